"""The rotary positions of a Hugging Face config.json, and the keys of a run file that mean the same."""

import math
from typing import Any

from mf_models.config_keys.rotary import RotaryKeys, RotaryScaling
from mf_models.hf_config import HfConfig
from mf_models.layers.frequencies import longrope_amplitude, longrope_factor, yarn_amplitude

_METHODS = {"linear": "PI", "dynamic": "DYNAMIC_NTK", "llama3": "LLAMA3", "yarn": "YARN", "longrope": "LONGROPE"}
"""Hugging Face's rope_type to extend_method."""


_OLDER_NAMES = {"su": "longrope"}
"""Names that Phi-3's first files have."""


def read_rotary(hf: HfConfig, positions: int, original: int | None = None) -> dict[str, Any]:
    """Take `rope_theta` and `rope_scaling` out of a config.json, in either spelling.

    Args:
        hf: the file.
        positions: its max_position_embeddings.
        original: tokens of a text in the first training, where the file has them outside the section.

    Returns:
        Values of the keys theta, extend_method and scaling_factor.
    """
    theta = {"theta": hf.number("rope_theta", 10000.0)}
    section = hf.section("rope_scaling")
    if section is None:
        return theta
    # Older files say `type`; some say both.
    names = ("default", *_METHODS, *_OLDER_NAMES)
    kind = section.choice("rope_type", names, absent=section.choice("type", names, absent="default"))
    kind = _OLDER_NAMES.get(kind, kind)
    if kind == "default":
        return theta
    scaling = _read_longrope(section, positions, original) if kind == "longrope" else _READERS[kind](section, positions)
    return theta | {"extend_method": _METHODS[kind], "scaling_factor": scaling}


def rotary_to_hf(config: RotaryKeys) -> dict[str, Any]:
    """The rotary positions of a configuration in the spelling that all versions of Hugging Face transformers know.

    The method NTK, which Hugging Face has not, is written as the base that it comes to.
    """
    scaling = config.scaling_factor
    if config.extend_method is None:
        return {"rope_theta": config.theta, "rope_scaling": None}
    if config.extend_method == "NTK":
        assert not isinstance(scaling, RotaryScaling)
        return {"rope_theta": config.theta * scaling, "rope_scaling": None}
    (kind,) = (kind for kind, method in _METHODS.items() if method == config.extend_method)
    values = _scaling_to_hf(kind, scaling) if isinstance(scaling, RotaryScaling) else {"factor": float(scaling)}
    return {"rope_theta": config.theta, "rope_scaling": {"rope_type": kind, **values}}


def _read_factor(section: HfConfig, positions: int) -> float:
    section.require("original_max_position_embeddings", (None, positions), absent=None)
    return section.number("factor")


def _read_llama3(section: HfConfig, positions: int) -> RotaryScaling:
    return RotaryScaling(
        factor=section.number("factor"),
        low_freq_factor=section.number("low_freq_factor"),
        high_freq_factor=section.number("high_freq_factor"),
        original_max_position_embeddings=section.count("original_max_position_embeddings"),
    )


def _read_yarn(section: HfConfig, positions: int) -> RotaryScaling:
    section.require("truncate", (True,), absent=True)
    factor = section.number("factor")
    amplitude = section.optional_number("attention_factor")
    mscale, mscale_all_dim = section.optional_number("mscale"), section.optional_number("mscale_all_dim")
    if amplitude is not None:
        # A factor of 1 has no logarithm to weigh; its amplitude is 1.
        mscale, mscale_all_dim = (amplitude - 1.0) / (0.1 * math.log(factor)) if factor > 1 else 1.0, 0.0
    elif mscale is None or mscale_all_dim is None:
        mscale, mscale_all_dim = 1.0, 0.0
    return RotaryScaling(
        factor=factor,
        original_max_position_embeddings=section.optional_count("original_max_position_embeddings") or positions,
        beta_fast=section.number("beta_fast", 32.0),
        beta_slow=section.number("beta_slow", 1.0),
        mscale=mscale,
        mscale_all_dim=mscale_all_dim,
    )


def _read_longrope(section: HfConfig, positions: int, original: int | None) -> RotaryScaling:
    original = section.optional_count("original_max_position_embeddings", original) or positions
    amplitude, factor = section.optional_number("attention_factor"), section.optional_number("factor")
    if amplitude is not None:
        factor = longrope_factor(amplitude, original)
    return RotaryScaling(
        factor=max(1.0, positions / original if factor is None else factor),
        original_max_position_embeddings=original,
        short_factor=section.numbers("short_factor"),
        long_factor=section.numbers("long_factor"),
    )


_READERS = {"linear": _read_factor, "dynamic": _read_factor, "llama3": _read_llama3, "yarn": _read_yarn}


def _scaling_to_hf(kind: str, scaling: RotaryScaling) -> dict[str, Any]:
    """The values of a section; YARN's amplitude as a number where Hugging Face would read its weights otherwise."""
    values = {
        "factor": scaling.factor,
        "original_max_position_embeddings": scaling.original_max_position_embeddings,
    }
    if kind == "llama3":
        return values | {"low_freq_factor": scaling.low_freq_factor, "high_freq_factor": scaling.high_freq_factor}
    if kind == "longrope":
        assert scaling.short_factor is not None and scaling.long_factor is not None
        factors = {"short_factor": list(scaling.short_factor), "long_factor": list(scaling.long_factor)}
        return values | factors | {"attention_factor": longrope_amplitude(scaling)}
    values |= {"beta_fast": scaling.beta_fast, "beta_slow": scaling.beta_slow}
    if scaling.mscale and scaling.mscale_all_dim:
        return values | {"mscale": scaling.mscale, "mscale_all_dim": scaling.mscale_all_dim}
    return values if scaling.mscale == 1.0 else values | {"attention_factor": yarn_amplitude(scaling)}

"""Rotary positions and their scaling to longer texts than those of the first training."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from mf_config.schema import key
from mf_models.config_keys.numerics import FLOAT_TYPES

NOT_READ = "models of the Llama kind never read it"

_LLAMA3 = ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
_YARN = ("beta_fast", "beta_slow", "mscale", "mscale_all_dim", "original_max_position_embeddings")
_LONGROPE = ("short_factor", "long_factor", "original_max_position_embeddings")
_SCALING_KEYS = {"LLAMA3": _LLAMA3, "YARN": _YARN, "LONGROPE": _LONGROPE}
"""What scaling_factor holds beside `factor`, for each method that needs more than a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotaryScaling:
    """Section `scaling_factor` of the methods LLAMA3, YARN and LONGROPE.

    Source: Peng et al. 2023, YaRN, sections 3.2 to 3.4; Grattafiori et al. 2024, The Llama 3 Herd of Models, and the
    code published with version 3.1; Ding et al. 2024, LongRoPE, section 3.
    """

    factor: float = key("How many times longer texts are than those of the first training.", minimum=1)
    original_max_position_embeddings: int | None = key(
        "Tokens of a text in the first training.", None, minimum=1, unit="tokens"
    )
    low_freq_factor: float | None = key(
        "LLAMA3: frequencies that turn less often than this over an original text are divided by factor.",
        None,
        above=0,
    )
    high_freq_factor: float | None = key(
        "LLAMA3: frequencies that turn more often than this over an original text stay.",
        None,
        above=0,
    )
    beta_fast: float | None = key(
        "YARN: frequencies that turn more often than this over an original text stay.", None, above=0
    )
    beta_slow: float | None = key(
        "YARN: frequencies that turn less often than this over an original text are divided by factor.",
        None,
        above=0,
    )
    short_factor: tuple[float, ...] | None = key(
        "LONGROPE: divisor of each frequency in texts up to the original length, half as many as a head has elements.",
        None,
        above=0,
    )
    long_factor: tuple[float, ...] | None = key("LONGROPE: the same in longer texts.", None, above=0)
    mscale: float | None = key("YARN: weight of the logarithm of factor in the amplitude.", None, minimum=0)
    mscale_all_dim: float | None = key("YARN: the same in the amplitude that it is divided by.", None, minimum=0)

    def mismatches(self, method: str) -> Iterator[tuple[str, str, str]]:
        """The keys that a method needs and does not find, and those that it never reads."""
        needed = ("factor", *_SCALING_KEYS[method])
        for name in (declared.name for declared in fields(self)):
            is_given = getattr(self, name) is not None
            if name in needed and not is_given:
                yield f"scaling_factor.{name}", f"is missing, and extend_method {method} needs it", "a number"
            if is_given and name not in needed:
                yield f"scaling_factor.{name}", f"is not read by extend_method {method}", ", ".join(needed)
        if self.low_freq_factor and self.high_freq_factor and self.low_freq_factor >= self.high_freq_factor:
            what = f"{self.low_freq_factor} is not below high_freq_factor {self.high_freq_factor}"
            yield "scaling_factor.low_freq_factor", what, f"below {self.high_freq_factor}"

    def mismatched_lengths(self, pairs: int) -> Iterator[tuple[str, str, str]]:
        """The lists that have not one number for each of the pairs that are rotated."""
        for name in ("short_factor", "long_factor"):
            found = getattr(self, name)
            if found is not None and len(found) != pairs:
                what = f"has {len(found)} numbers for {pairs} pairs of a head"
                yield f"scaling_factor.{name}", what, f"{pairs} numbers"


@dataclass(frozen=True, kw_only=True)
class RotaryKeys:
    """Base of the frequencies, table length and scaling."""

    __slots__ = ()

    theta: float = key("Base of the rotary frequencies.", 10000.0, above=0)
    extend_method: str | None = key(
        "Scaling of the rotary positions for longer texts; None for no scaling.",
        None,
        allowed=("PI", "NTK", "DYNAMIC_NTK", "LLAMA3", "YARN", "LONGROPE"),
    )
    scaling_factor: RotaryScaling | float = key(
        "How far extend_method scales: a number for PI, NTK and DYNAMIC_NTK, a section for LLAMA3, YARN and LONGROPE. "
        "It has no meaning without extend_method.",
        1.0,
        above=0,
    )
    rope_scaling: dict[str, Any] | None = key(
        "Hugging Face's section of rotary scaling.", None, pending="write extend_method and scaling_factor instead"
    )
    rotary_dtype: str = key("Type of the rotary angles and of the rotation.", "float32", allowed=FLOAT_TYPES)
    rotary_pct: float = key("Share of a head that is rotated.", 1.0, minimum=0, maximum=1, inert=NOT_READ)
    rotary_emb_base: float | None = key("Qwen's name of theta.", None, inert=f"{NOT_READ}; write theta")

    def rotary_problems(self) -> Iterator[tuple[str, str, str]]:
        """Where scaling_factor does not fit extend_method; it is not looked at without a method."""
        method, scaling = self.extend_method, self.scaling_factor
        if method is None:
            return
        if isinstance(scaling, RotaryScaling) and method not in _SCALING_KEYS:
            yield "scaling_factor", f"is a section, and extend_method {method} needs a number", "a number"
        elif isinstance(scaling, RotaryScaling):
            yield from scaling.mismatches(method)
        elif method in _SCALING_KEYS:
            allowed = f"a section with {', '.join(('factor', *_SCALING_KEYS[method]))}"
            yield "scaling_factor", f"{scaling:g} is a number, and extend_method {method} needs a section", allowed

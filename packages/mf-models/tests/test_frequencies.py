"""Rotary positions: frequencies and amplitudes of every method, and their Hugging Face spellings."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from mf_models.config_keys.rotary import RotaryScaling
from mf_models.families.llama import LlamaConfig
from mf_models.layers.frequencies import Rotary
from mf_models.layers.rope import rotary_angles

RTOL = 1e-6
YARN = RotaryScaling(
    factor=4.0,
    original_max_position_embeddings=64,
    beta_fast=32.0,
    beta_slow=1.0,
    mscale=1.0,
    mscale_all_dim=0.0,
)


@pytest.fixture
def hf(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data / "llama3_rope" / "config.json").read_text())
    return found


def rotary(**changes: Any) -> Rotary:
    config = LlamaConfig(**({"hidden_size": 64, "num_heads": 4, "theta": 10000.0} | changes))
    assert not list(config.problems())
    return Rotary.of(config, config.head_dim)


def plain(theta: float) -> np.ndarray:
    found: np.ndarray = theta ** (-np.arange(8) / 8)
    return found


def test_llama3_has_three_bands(hf: dict[str, Any]) -> None:
    # The frequencies that transformers 5.24 computes for this configuration.
    expected = [
        1.0,
        0.024240344762802124,
        0.004700753837823868,
        0.0009115831344388425,
        0.00017677668074611574,
        3.428102354519069e-05,
        6.647869668086059e-06,
        1.289173155782919e-06,
    ]
    config = LlamaConfig.from_hf(hf)
    np.testing.assert_allclose(Rotary.of(config, config.head_dim).inverse_frequencies, expected, RTOL)


def test_every_spelling_gives_the_same(hf: dict[str, Any]) -> None:
    config = LlamaConfig.from_hf(hf)
    scaling = {name: value for name, value in hf["rope_scaling"].items() if name != "rope_type"}
    assert LlamaConfig.from_hf({**hf, "rope_scaling": {**scaling, "type": "llama3"}}) == config
    newer = {name: value for name, value in hf.items() if name not in ("rope_scaling", "rope_theta")}
    newer["rope_parameters"] = {**hf["rope_scaling"], "rope_theta": hf["rope_theta"]}
    assert LlamaConfig.from_hf(newer) == config


def test_a_number_scales_positions_or_the_base() -> None:
    found = rotary(extend_method="PI", scaling_factor=4.0)
    np.testing.assert_allclose(found.inverse_frequencies, plain(1e4) / 4, RTOL)
    found = rotary(extend_method="NTK", scaling_factor=4.0)
    np.testing.assert_allclose(found.inverse_frequencies, plain(4e4), RTOL)
    found = rotary(extend_method=None, scaling_factor=4.0)
    np.testing.assert_allclose(found.inverse_frequencies, plain(1e4), RTOL)


def test_yarn_keeps_fast_pairs_and_slows_slow_ones() -> None:
    found = rotary(extend_method="YARN", scaling_factor=YARN)
    # The pairs that turn 32 times and once over 64 positions: below the first, and 2.01 of 8.
    assert 8 * math.log(64 / (32 * 2 * math.pi)) / math.log(1e4) < 0
    assert math.ceil(8 * math.log(64 / (2 * math.pi)) / math.log(1e4)) == 3
    ramp = np.clip(np.arange(8) / 3, 0, 1)
    np.testing.assert_allclose(found.inverse_frequencies, plain(1e4) * (1 - ramp + ramp / 4), RTOL)
    assert found.amplitude == pytest.approx(0.1 * math.log(4) + 1)
    cos, sin = (part.asnumpy()[0, 0] for part in rotary_angles(found)(Tensor(np.arange(5, dtype=np.int32)[None])))
    np.testing.assert_allclose(cos**2 + sin**2, np.full((5, 8), found.amplitude**2), 1e-5)


def test_the_dynamic_base_grows_with_each_text() -> None:
    found = rotary(extend_method="DYNAMIC_NTK", scaling_factor=2.0, seq_length=16)
    positions = np.array([[5, 6, 7], [38, 39, 40]], np.int32)
    cos, sin = rotary_angles(found)(Tensor(positions), Tensor(np.array([7, 40], np.int32)))
    # The second text ends one position before its padding, after 40 tokens.
    base = 1e4 * (2 * 40 / 16 - 1) ** (16 / 14)
    for row, theta in enumerate((1e4, base)):
        angles = positions[row][:, None] * plain(theta)
        np.testing.assert_allclose(cos.asnumpy()[row, 0], np.cos(angles), 0, 2e-5)
        np.testing.assert_allclose(sin.asnumpy()[row, 0], np.sin(angles), 0, 2e-5)


@pytest.mark.parametrize(
    "section",
    [
        {"rope_type": "linear", "factor": 2.5},
        {"rope_type": "dynamic", "factor": 2.0},
        {"rope_type": "yarn", "factor": 4.0},
        {"rope_type": "yarn", "factor": 4.0, "mscale": 0.7, "mscale_all_dim": 0.9, "beta_fast": 24.0},
        {"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.25, "original_max_position_embeddings": 64},
    ],
)
def test_scaling_goes_there_and_back(hf: dict[str, Any], section: dict[str, Any]) -> None:
    config = LlamaConfig.from_hf({**hf, "rope_scaling": section})
    again = LlamaConfig.from_hf(json.loads(json.dumps(config.to_hf())))
    found, repeated = (Rotary.of(one, one.head_dim) for one in (config, again))
    np.testing.assert_array_equal(repeated.inverse_frequencies, found.inverse_frequencies)
    assert repeated.amplitude == pytest.approx(found.amplitude, rel=1e-12)
    if "attention_factor" in section:
        assert found.amplitude == pytest.approx(1.25)


def test_the_scaled_base_of_mindformers_is_written_as_a_base() -> None:
    written = LlamaConfig(extend_method="NTK", scaling_factor=4.0).to_hf()
    assert (written["rope_theta"], written["rope_scaling"]) == (40000.0, None)

"""Frequencies of the rotary positions, plain and scaled to longer texts; imports no MindSpore.

Each step is rounded to float32 as in Hugging Face transformers, so that the angles of large positions agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.rotary import RotaryScaling

_ONE = np.float32(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotary:
    """How positions become angles.

    Attributes:
        dim: elements of a head that are rotated, even.
        theta: base of the frequencies.
        method: a value of the key `extend_method`, or STEPPED_NTK; None for no scaling.
        scaling: the value of the key `scaling_factor`.
        original_positions: tokens of a text beyond which DYNAMIC_NTK and STEPPED_NTK change the base.
    """

    dim: int
    theta: float
    method: str | None = None
    scaling: RotaryScaling | float = 1.0
    original_positions: int = 0

    @classmethod
    def of(cls, keys: DecoderKeys, dim: int) -> "Rotary":
        """The rotary positions that the shared keys of a run file describe, of `dim` elements of a head."""
        return cls(
            dim=dim,
            theta=keys.theta,
            method=keys.extend_method,
            scaling=keys.scaling_factor,
            original_positions=keys.max_positions,
        )

    @property
    def inverse_frequencies(self) -> np.ndarray:
        """Radians a position of each pair, [dim / 2], float32; those of short texts where they depend on the length."""
        if isinstance(self.scaling, RotaryScaling):
            plain = inverse_frequencies(self.dim, self.theta)
            if self.method == "LLAMA3":
                return llama3_frequencies(plain, self.scaling)
            if self.method == "LONGROPE":
                return longrope_frequencies(self.dim, self.theta, self.scaling.short_factor)
            return yarn_frequencies(plain, self.theta, self.scaling) if self.method == "YARN" else plain
        if self.method == "NTK":
            return inverse_frequencies(self.dim, self.theta * self.scaling)
        plain = inverse_frequencies(self.dim, self.theta)
        return plain / np.float32(self.scaling) if self.method == "PI" else plain

    @property
    def amplitude(self) -> float:
        """Factor of cosines and sines."""
        if not isinstance(self.scaling, RotaryScaling):
            return 1.0
        amplitudes = {"YARN": yarn_amplitude, "LONGROPE": longrope_amplitude}
        return amplitudes[self.method](self.scaling) if self.method in amplitudes else 1.0


def inverse_frequencies(dim: int, theta: float) -> np.ndarray:
    """theta^(-2i / dim) for i below dim / 2, float32.

    Source: Su et al. 2021, RoFormer, section 3.2.2.
    """
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    return (_ONE / np.float32(theta) ** exponents).astype(np.float32)


def llama3_frequencies(plain_C: np.ndarray, scaling: RotaryScaling) -> np.ndarray:
    """Slow frequencies divided by the factor, fast ones kept, those between blended.

    Args:
        plain_C: unscaled frequencies, float32.
        scaling: a section of the method LLAMA3.

    Returns:
        [C], float32.
    Source: the code published with Llama 3.1.
    """
    low, high, original = _given(scaling.low_freq_factor, scaling.high_freq_factor, _original(scaling))
    turns_C = original * plain_C / np.float32(2 * math.pi)
    smooth_C = (turns_C - np.float32(low)) / np.float32(high - low)
    slow_C = plain_C / np.float32(scaling.factor)
    blended_C = (_ONE - smooth_C) * slow_C + smooth_C * plain_C
    return np.where(turns_C < low, slow_C, np.where(turns_C > high, plain_C, blended_C)).astype(np.float32)


def yarn_frequencies(plain_C: np.ndarray, theta: float, scaling: RotaryScaling) -> np.ndarray:
    """A ramp from the plain frequencies of fast pairs to those divided by the factor of slow ones.

    Args:
        plain_C: unscaled frequencies, float32.
        theta: their base.
        scaling: a section of the method YARN.

    Returns:
        [C], float32.
    Source: Peng et al. 2023, YaRN, section 3.2 (NTK-by-parts), with the rounding of the published code.
    """
    fast, slow, original = _given(scaling.beta_fast, scaling.beta_slow, _original(scaling))
    pairs = len(plain_C)

    def pair_that_turns(times: float) -> float:
        return pairs * math.log(original / (times * 2 * math.pi)) / math.log(theta)

    low = max(math.floor(pair_that_turns(fast)), 0)
    high = min(math.ceil(pair_that_turns(slow)), 2 * pairs - 1)
    width = np.float32(high - low) if high != low else np.float32(0.001)
    ramp_C = np.clip((np.arange(pairs, dtype=np.float32) - np.float32(low)) / width, 0, 1)
    blended_C: np.ndarray = plain_C / np.float32(scaling.factor) * ramp_C + plain_C * (_ONE - ramp_C)
    return blended_C.astype(np.float32)


def yarn_amplitude(scaling: RotaryScaling) -> float:
    """Factor of cosines and sines of a section of the method YARN.

    Source: Peng et al. 2023, YaRN, section 3.3, equation 22; the quotient is that of DeepSeek-V2's published code.
    """
    mscale, mscale_all_dim = _given(scaling.mscale, scaling.mscale_all_dim)
    growth = 0.1 * math.log(scaling.factor)
    return (mscale * growth + 1.0) / (mscale_all_dim * growth + 1.0)


def longrope_frequencies(dim: int, theta: float, factors_C: Sequence[float] | None) -> np.ndarray:
    """Plain frequencies, each divided by its own factor.

    Args:
        dim: elements of a head that are rotated, even.
        theta: base of the plain frequencies.
        factors_C: one a pair, of short texts or of long ones.

    Returns:
        [C], float32.
    Source: Ding et al. 2024, LongRoPE, equation 1, with the rounding of Hugging Face transformers.
    """
    assert factors_C is not None and 2 * len(factors_C) == dim
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    return (_ONE / (np.array(factors_C, np.float32) * np.float32(theta) ** exponents)).astype(np.float32)


def longrope_amplitude(scaling: RotaryScaling) -> float:
    """Factor of cosines and sines of a section of the method LONGROPE.

    Source: Abdin et al. 2024, Phi-3 Technical Report, and the code published with it.
    """
    (original,) = _given(_original(scaling))
    return math.sqrt(1.0 + math.log(scaling.factor) / math.log(original))


def longrope_factor(amplitude: float, original: int) -> float:
    """The factor whose `longrope_amplitude` is this number; rounded, as published factors are whole numbers."""
    return round(float(original ** (amplitude**2 - 1.0)), 9)


def _original(scaling: RotaryScaling) -> float | None:
    original = scaling.original_max_position_embeddings
    return None if original is None else float(original)


def _given(*values: float | None) -> tuple[float, ...]:
    """The values, which `RotaryKeys.rotary_problems` has made sure of."""
    found = tuple(value for value in values if value is not None)
    assert len(found) == len(values)
    return found

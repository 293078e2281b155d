"""Angles of the rotary embedding. Legend: B batch, T tokens, C = rotated part of a head / 2."""

from collections.abc import Callable

import numpy as np
from mindspore import Tensor, nn, ops

from mf_models.config_keys.rotary import RotaryScaling
from mf_models.layers.frequencies import Rotary, longrope_frequencies
from mf_models.layers.typed import Typed

_DOUBLINGS = 20
"""A million times the length of the training."""


class _Angles(Typed):
    """Cosines and sines; subclasses compute the angles themselves in float32."""

    computed_as = "rotary"

    def __init__(self, amplitude: float):
        super().__init__()
        self.amplitude = amplitude
        self.cos = ops.Cos()
        self.sin = ops.Sin()

    def turns(self, angles_B1TC: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of angles [B, 1, T, C] float32, times the amplitude, in the type of the rotation."""
        cos_B1TC, sin_B1TC = self.cos(angles_B1TC), self.sin(angles_B1TC)
        if self.amplitude != 1.0:
            cos_B1TC, sin_B1TC = cos_B1TC * self.amplitude, sin_B1TC * self.amplitude
        return self.converted(cos_B1TC), self.converted(sin_B1TC)


class RotaryAngles(_Angles):
    """Computed from the positions at each call: no table bounds the length."""

    def __init__(self, rotary: Rotary):
        """Takes the frequencies and the amplitude; for those that depend on the length see below."""
        super().__init__(rotary.amplitude)
        self.inverse_frequencies_C = Tensor(rotary.inverse_frequencies)

    def construct(self, positions_BT: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Cosines and sines for `kernels.rotate`.

        Args:
            positions_BT: [B, T] int32.
            lengths_B: not needed here.

        Returns:
            Two tensors [B, 1, T, C], in the type of the rotation.
        """
        batch, tokens = positions_BT.shape
        return self.turns(positions_BT.reshape((batch, 1, tokens, 1)).astype("float32") * self.inverse_frequencies_C)


class LengthDependentAngles(_Angles):
    """Frequencies that depend on the length of the text; subclasses say how."""

    def __init__(self, rotary: Rotary):
        """Takes the base, the amplitude and the length from which the frequencies change."""
        super().__init__(rotary.amplitude)
        self.theta, self.original = rotary.theta, rotary.original_positions
        self.power = rotary.dim / (rotary.dim - 2)
        self.exponents_C = Tensor(np.arange(0, rotary.dim, 2, dtype=np.float32) / np.float32(rotary.dim))

    def construct(self, positions_BT: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Cosines and sines for `kernels.rotate`.

        Args:
            positions_BT: [B, T] int32.
            lengths_B: [B] int32, tokens of each text so far; where None, all positions count.

        Returns:
            Two tensors [B, 1, T, C], in the type of the rotation.
        """
        batch, tokens = positions_BT.shape
        length_B = positions_BT.max(axis=1) + 1 if lengths_B is None else lengths_B
        inverse_B11C = self.inverse_frequencies(length_B.reshape((-1, 1, 1, 1)).astype("float32"))
        return self.turns(positions_BT.reshape((batch, 1, tokens, 1)).astype("float32") * inverse_B11C)

    def inverse_frequencies(self, length_B111: Tensor) -> Tensor:
        """Radians a position, [B, 1, 1, C] float32, of texts of these lengths, [B, 1, 1, 1] float32."""
        raise NotImplementedError

    def with_base(self, growth_B111: Tensor) -> Tensor:
        """Frequencies whose base has grown so that the slowest pair turns this many times slower, [B, 1, 1, C]."""
        base_B111 = self.theta * growth_B111**self.power
        return 1.0 / base_B111**self.exponents_C


class DynamicRotaryAngles(LengthDependentAngles):
    """The base grows with the text, once it is longer than those of the training.

    Source: the scaling `dynamic` of Hugging Face transformers, from a post by emozilla 2023, Dynamically Scaled RoPE.
    """

    def __init__(self, rotary: Rotary):
        """Takes also the factor of the growth."""
        super().__init__(rotary)
        assert isinstance(rotary.scaling, float | int)
        self.factor = float(rotary.scaling)

    def inverse_frequencies(self, length_B111: Tensor) -> Tensor:
        """See `LengthDependentAngles`: [B, 1, 1, 1] to [B, 1, 1, C]."""
        longer_B111 = ops.maximum(length_B111, float(self.original))
        return self.with_base(self.factor * longer_B111 / self.original - (self.factor - 1.0))


class SteppedRotaryAngles(LengthDependentAngles):
    """The base grows each time that the text has doubled, once it is longer than those of the training.

    Source: the code published with Qwen (use_dynamic_ntk); Bai et al. 2023, Qwen Technical Report, section 2.4.
    """

    def __init__(self, rotary: Rotary):
        """Takes the lengths behind which the base grows."""
        super().__init__(rotary)
        self.steps_J = Tensor((rotary.original_positions * 2.0 ** np.arange(_DOUBLINGS)).astype(np.float32))

    def inverse_frequencies(self, length_B111: Tensor) -> Tensor:
        """See `LengthDependentAngles`: [B, 1, 1, 1] to [B, 1, 1, C]."""
        # Counting steps is exact, where the logarithm of a power of two may be rounded to the next step.
        doublings_B111 = (length_B111 > self.steps_J).astype("float32").sum(-1, keepdims=True)
        return self.with_base(2.0 ** (doublings_B111 + 1.0) - 1.0)


class LongRotaryAngles(LengthDependentAngles):
    """Two sets of frequencies, of texts up to the original length and of longer ones.

    Source: Ding et al. 2024, LongRoPE, section 3.2.
    """

    def __init__(self, rotary: Rotary):
        """Takes both sets."""
        super().__init__(rotary)
        assert isinstance(rotary.scaling, RotaryScaling)
        assert rotary.scaling.original_max_position_embeddings is not None
        self.original = rotary.scaling.original_max_position_embeddings
        self.short_C = Tensor(rotary.inverse_frequencies)
        self.long_C = Tensor(longrope_frequencies(rotary.dim, rotary.theta, rotary.scaling.long_factor))

    def inverse_frequencies(self, length_B111: Tensor) -> Tensor:
        """See `LengthDependentAngles`: [B, 1, 1, 1] to [B, 1, 1, C]."""
        is_long_B111 = (length_B111 > float(self.original)).astype("float32")
        return self.short_C * (1.0 - is_long_B111) + self.long_C * is_long_B111


_LENGTH_DEPENDENT: dict[str, Callable[[Rotary], nn.Cell]] = {
    "DYNAMIC_NTK": DynamicRotaryAngles,
    "STEPPED_NTK": SteppedRotaryAngles,
    "LONGROPE": LongRotaryAngles,
}


def rotary_angles(rotary: Rotary) -> nn.Cell:
    """The cell that makes the angles of a rotary embedding."""
    return _LENGTH_DEPENDENT.get(rotary.method or "", RotaryAngles)(rotary)

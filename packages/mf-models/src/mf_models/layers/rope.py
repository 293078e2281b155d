"""Angles of the rotary embedding. Legend: B batch, T tokens, C = rotated part of a head / 2."""

import numpy as np
from mindspore import Tensor, nn, ops

from mf_models.layers.frequencies import Rotary


class RotaryAngles(nn.Cell):
    """Computed from the positions at each call: no table bounds the length."""

    def __init__(self, rotary: Rotary):
        """Takes the frequencies and the amplitude; of the method DYNAMIC_NTK see `DynamicRotaryAngles`."""
        super().__init__()
        self.inverse_frequencies_C = Tensor(rotary.inverse_frequencies)
        self.amplitude = rotary.amplitude
        self.cos = ops.Cos()
        self.sin = ops.Sin()

    def construct(self, positions_BT: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Cosines and sines for `kernels.rotate`.

        Args:
            positions_BT: [B, T] int32.
            lengths_B: not needed here.

        Returns:
            Two tensors [B, 1, T, C], float32.
        """
        batch, tokens = positions_BT.shape
        angles_B1TC = positions_BT.reshape((batch, 1, tokens, 1)).astype("float32") * self.inverse_frequencies_C
        if self.amplitude == 1.0:
            return self.cos(angles_B1TC), self.sin(angles_B1TC)
        return self.cos(angles_B1TC) * self.amplitude, self.sin(angles_B1TC) * self.amplitude


class DynamicRotaryAngles(nn.Cell):
    """Frequencies whose base grows with the text, once it is longer than those of the training.

    Source: the scaling `dynamic` of Hugging Face transformers, from a post by emozilla 2023, Dynamically Scaled RoPE.
    """

    def __init__(self, rotary: Rotary):
        """Takes a factor and the length from which the base grows."""
        super().__init__()
        assert isinstance(rotary.scaling, float | int)
        self.theta, self.factor, self.original = rotary.theta, float(rotary.scaling), rotary.original_positions
        self.power = rotary.dim / (rotary.dim - 2)
        self.exponents_C = Tensor(np.arange(0, rotary.dim, 2, dtype=np.float32) / np.float32(rotary.dim))
        self.cos = ops.Cos()
        self.sin = ops.Sin()

    def construct(self, positions_BT: Tensor, lengths_B: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Cosines and sines for `kernels.rotate`.

        Args:
            positions_BT: [B, T] int32.
            lengths_B: [B] int32, tokens of each text so far; where None, all positions count.

        Returns:
            Two tensors [B, 1, T, C], float32.
        """
        batch, tokens = positions_BT.shape
        length_B = positions_BT[:, -1] + 1 if lengths_B is None else lengths_B
        length_B111 = ops.maximum(length_B.reshape((-1, 1, 1, 1)).astype("float32"), float(self.original))
        growth_B111 = self.factor * length_B111 / self.original - (self.factor - 1.0)
        base_B111 = self.theta * growth_B111**self.power
        inverse_B11C = 1.0 / base_B111**self.exponents_C
        angles_B1TC = positions_BT.reshape((batch, 1, tokens, 1)).astype("float32") * inverse_B11C
        return self.cos(angles_B1TC), self.sin(angles_B1TC)


def rotary_angles(rotary: Rotary) -> nn.Cell:
    """The cell that makes the angles of a rotary embedding."""
    return DynamicRotaryAngles(rotary) if rotary.method == "DYNAMIC_NTK" else RotaryAngles(rotary)

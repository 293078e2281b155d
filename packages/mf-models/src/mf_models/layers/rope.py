"""Angles of the rotary embedding. Legend: B batch, T tokens, C = head dim / 2."""

import numpy as np
from mindspore import Tensor, nn, ops


def inverse_frequencies(head_dim: int, theta: float) -> np.ndarray:
    """theta^(-2i / head_dim) for i below head_dim / 2, float32.

    Source: Su et al. 2021, RoFormer, section 3.2.2. Rounded at each step as in Hugging Face transformers, so that the
    angles of large positions agree.
    """
    exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    return (np.float32(1.0) / np.float32(theta) ** exponents).astype(np.float32)


class RotaryAngles(nn.Cell):
    """Computed from the positions at each call: no table bounds the length."""

    def __init__(self, inverse_frequencies_C: np.ndarray):
        super().__init__()
        self.inverse_frequencies_C = Tensor(inverse_frequencies_C)
        self.cos = ops.Cos()
        self.sin = ops.Sin()

    def construct(self, positions_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines for `kernels.rotate`.

        Args:
            positions_BT: [B, T] int32.

        Returns:
            Two tensors [B, 1, T, C], float32.
        """
        batch, tokens = positions_BT.shape
        angles_B1TC = positions_BT.reshape((batch, 1, tokens, 1)).astype("float32") * self.inverse_frequencies_C
        return self.cos(angles_B1TC), self.sin(angles_B1TC)

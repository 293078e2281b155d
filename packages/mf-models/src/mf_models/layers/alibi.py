"""Positions as a penalty of distance. Legend: B batch, N query heads, T tokens, S keys."""

import math

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops


def alibi_slopes(heads: int) -> np.ndarray:
    """The penalty of each step of distance, [N], float64.

    Powers of 2^(-8 / n) for the largest power of two n that is not above the number of heads; the heads beyond it have
    every other power of the series of 2 n heads.

    Args:
        heads: number of query heads, at least 1.

    Source: Press et al. 2021, Train Short, Test Long, section 3, and the code published with it for other numbers.
    """
    whole = 2 ** math.floor(math.log2(heads))
    first = 2.0 ** (-8.0 / whole * np.arange(1, whole + 1))
    between = 2.0 ** (-4.0 / whole * np.arange(1, 2 * whole + 1, 2))
    return np.concatenate((first, between[: heads - whole]))


class AlibiMask(nn.Cell):
    """Adds each head's penalty of distance to a mask."""

    def __init__(self, heads: int):
        super().__init__()
        self.slopes_N11 = Tensor(alibi_slopes(heads).astype(np.float32).reshape((-1, 1, 1)))

    def keep_heads(self, part: int, parts: int) -> None:
        """Keep the slopes of one of some equal parts of the heads, counted from 0; call it before it is compiled."""
        slopes_N11 = self.slopes_N11.asnumpy()
        count = len(slopes_N11) // parts
        self.slopes_N11 = Tensor(slopes_N11[part * count : (part + 1) * count])

    def construct(self, mask_BTS: Tensor, places_BT: Tensor) -> Tensor:
        """One mask a head.

        Args:
            mask_BTS: [B or 1, T, S], 0 where visible.
            places_BT: [B or 1, T] int32 places of the queries; key s stands at place s.

        Returns:
            [B or 1, N, T, S], float32.
        """
        batch, tokens, keys = mask_BTS.shape
        keys_S = ops.arange(keys).astype(ms.int32)
        distance_B1TS = (keys_S - places_BT.reshape((-1, 1, tokens, 1))).astype(ms.float32)
        return mask_BTS.reshape((batch, 1, tokens, keys)) + self.slopes_N11 * distance_B1TS

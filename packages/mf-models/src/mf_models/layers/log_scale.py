"""Queries that grow with the number of keys that they see. Legend: B batch, N heads, T tokens, S keys, H head dim."""

import math

import mindspore as ms
from mindspore import Tensor, nn, ops


class LogScale(nn.Cell):
    """Multiplies a query that sees n keys by log(n) / log(tokens), where n is above `tokens`.

    The entropy of attention then stays what it was in training, however long the text is.
    Source: Chiang and Cholak 2022, Overcoming a Theoretical Limitation of Self-Attention, section 5.3; the base is the
    length of the training texts in the code published with Qwen.
    """

    def __init__(self, tokens: int):
        """Takes the length of the training texts, at least 2."""
        super().__init__()
        self.factor = 1.0 / math.log(tokens)
        self.tokens = float(tokens)
        self.log = ops.Log()

    def construct(self, q_BNTH: Tensor, mask_BTS: Tensor) -> Tensor:
        """Scale the queries.

        Args:
            q_BNTH: [B, N, T, H].
            mask_BTS: [B or 1, T, S], 0 where visible, a large negative number elsewhere.

        Returns:
            [B, N, T, H].
        """
        seen_BT = (mask_BTS > -1.0).astype(ms.float32).sum(-1)
        scale_BT = self.log(ops.maximum(seen_BT, self.tokens)) * self.factor
        return q_BNTH * scale_BT.reshape((-1, 1, scale_BT.shape[1], 1)).astype(q_BNTH.dtype)

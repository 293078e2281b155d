"""Learnt rows before each text, as layers that parameter-efficient training adds to a network.

Legend: B batch, K key/value heads, P learnt rows, S keys, H head dim, T tokens, D model dim, ... any leading dims.
"""

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer

from mf_models.layers.dropout import Dropout


class KeyValuePrefix(nn.Cell):
    """Keys and values that every query of one attention sees beside those of the text.

    They stand at no position: they are not rotated, and the text's positions begin at 0 all the same. `SelfAttention`
    uses one that is put into its attribute `prefix`; a cache never holds them.
    Source: Li and Liang 2021, Prefix-Tuning, section 4.1; Liu et al. 2022, P-Tuning v2, section 3.
    """

    def __init__(self, rows: int, kv_heads: int, head_dim: int, dropout: float = 0.0):
        """Takes the sizes, and the share of elements that is dropped in training."""
        super().__init__()
        self.keys = Parameter(initializer("zeros", (kv_heads, rows, head_dim), ms.float32))
        self.values = Parameter(initializer("zeros", (kv_heads, rows, head_dim), ms.float32))
        self.key_dropout = Dropout(dropout)
        self.value_dropout = Dropout(dropout)
        self.concat = ops.Concat(2)
        self.concat_keys = ops.Concat(-1)

    def construct(self, k_BKSH: Tensor, v_BKSH: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Put the learnt rows first.

        Args:
            k_BKSH: [B, K, S, H] keys of the text.
            v_BKSH: [B, K, S, H] values.
            mask: [..., S], added to the scores.

        Returns:
            Keys and values [B, K, P + S, H], and the mask [..., P + S], in which all see the learnt rows.
        """
        batch = k_BKSH.shape[0]
        shape = (batch, *self.keys.shape)
        keys_BKPH = self.key_dropout(ops.broadcast_to(self.keys, shape)).astype(k_BKSH.dtype)
        values_BKPH = self.value_dropout(ops.broadcast_to(self.values, shape)).astype(v_BKSH.dtype)
        open_mask = ops.zeros((*mask.shape[:-1], self.keys.shape[1]), ms.float32)
        return (
            self.concat((keys_BKPH, k_BKSH)),
            self.concat((values_BKPH, v_BKSH)),
            self.concat_keys((open_mask, mask)),
        )


class PromptEmbedding(nn.Cell):
    """Rows that stand before the embedded tokens of each text, as if they were tokens of their own.

    Source: Lester et al. 2021, The Power of Scale for Parameter-Efficient Prompt Tuning, section 2.
    """

    def __init__(self, rows: int, hidden_size: int):
        super().__init__()
        self.embedding_weight = Parameter(initializer("zeros", (rows, hidden_size), ms.float32))
        self.concat = ops.Concat(1)

    def construct(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, P + T, D]."""
        rows, width = self.embedding_weight.shape
        rows_BPD = ops.broadcast_to(self.embedding_weight, (x_BTD.shape[0], rows, width)).astype(x_BTD.dtype)
        return self.concat((rows_BPD, x_BTD))

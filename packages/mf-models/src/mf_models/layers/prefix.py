"""Learnt rows before each text, as layers that parameter-efficient training adds to a network.

Legend: B batch, K key/value heads, P learnt rows, S keys, H head dim, T tokens, D model dim, M inner dim, ... any
leading dims.
"""

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer

from mf_models.kernels.select import select_kernels
from mf_models.layers.dropout import Dropout


class LearntRows(nn.Cell):
    """Keys and values that are learnt as they are."""

    def __init__(self, keys_KPH: Parameter, values_KPH: Parameter):
        super().__init__()
        self.keys = keys_KPH
        self.values = values_KPH

    def construct(self) -> tuple[Tensor, Tensor]:
        """Keys and values, [K, P, H] each."""
        return self.keys, self.values


class ProjectedRows(nn.Cell):
    """Keys and values that a small network makes of a learnt table.

    Source: Li and Liang 2021, Prefix-Tuning, section 4.3.
    """

    def __init__(self, table_PD: Parameter, first_MD: Parameter, second_FM: Parameter, head_dim: int):
        """Takes the table, the two matrices, F = 2 * K * H, and the head dim; several blocks may share the first two.

        The second matrix makes all keys of a row, then all values.
        """
        super().__init__()
        self.table = table_PD
        self.first = first_MD
        self.second = second_FM
        self.head_dim = head_dim
        self.linear = select_kernels().linear
        self.tanh = ops.Tanh()

    def construct(self) -> tuple[Tensor, Tensor]:
        """Keys and values, [K, P, H] each."""
        rows_PF = self.linear(self.tanh(self.linear(self.table, self.first)), self.second)
        rows_2KPH = rows_PF.reshape((rows_PF.shape[0], 2, -1, self.head_dim)).transpose((1, 2, 0, 3))
        return rows_2KPH[0], rows_2KPH[1]


class KeyValuePrefix(nn.Cell):
    """Keys and values that every query of one attention sees beside those of the text.

    They stand at no position: they are not rotated, and the text's positions begin at 0 all the same. `SelfAttention`
    uses one that is put into its attribute `prefix`; a cache never holds them.
    Source: Li and Liang 2021, Prefix-Tuning, section 4.1; Liu et al. 2022, P-Tuning v2, section 3.
    """

    def __init__(self, rows: nn.Cell, dropout: float = 0.0):
        """Takes what gives the keys and values, and the share of elements that is dropped in training."""
        super().__init__()
        self.rows = rows
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
        keys_KPH, values_KPH = self.rows()
        shape = (k_BKSH.shape[0], *keys_KPH.shape)
        keys_BKPH = self.key_dropout(ops.broadcast_to(keys_KPH, shape)).astype(k_BKSH.dtype)
        values_BKPH = self.value_dropout(ops.broadcast_to(values_KPH, shape)).astype(v_BKSH.dtype)
        open_mask = ops.zeros((*mask.shape[:-1], shape[2]), mask.dtype)
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

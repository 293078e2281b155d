"""Embedding and cross entropy over a vocabulary whose rows are divided among ranks.

Legend: B batch, T tokens, D model dim, N = B * T, V this rank's rows of the vocabulary.
"""

import mindspore as ms
from mindspore import Tensor, mint, nn, ops

from mf_parallel.collectives import AllGather, Communicator, piece
from mf_parallel.regions import Leave

_pick = ops.GatherD()

_NO_ENTRY = -1e30
"""Logit of a row that only pads the vocabulary: its probability becomes exactly 0."""


class VocabularyLookup(nn.Cell):
    """Rows of a divided table: zeros for ids that other ranks hold, so that the ranks' results add up to the rows."""

    def __init__(self, communicator: Communicator, rows: int):
        """Takes the ranks that divide the table, and the rows of each."""
        super().__init__()
        self.first = communicator.position * rows
        self.rows = rows
        self.gather = ops.Gather()

    def construct(self, table_VD: Tensor, ids_BT: Tensor, dim: int) -> Tensor:
        """Look the ids up.

        Args:
            table_VD: [V, D], this rank's rows.
            ids_BT: [B, T] int32, ids of the whole vocabulary.
            dim: 0.

        Returns:
            [B, T, D].
        """
        own_BT = ids_BT - self.first
        here_BT = ops.logical_and(own_BT >= 0, own_BT < self.rows)
        rows_BTD = self.gather(table_VD, own_BT * here_BT.astype(ms.int32), dim)
        return rows_BTD * here_BT.astype(rows_BTD.dtype).reshape((*ids_BT.shape, 1))


Losses = tuple[Tensor, Tensor, Tensor]
"""Losses [N]; for the gradient this rank's probabilities [N, V] and positions [N] of the labels among its rows."""


class _Losses(nn.Cell):
    """The losses with what their gradient needs, and that gradient."""

    def __init__(self, communicator: Communicator, rows: int, padding: int):
        super().__init__()
        self.first = communicator.position * rows
        self.rows = rows
        self.padding = padding
        self.gather_maxima = AllGather(communicator, 0)
        self.sum_over_ranks = communicator.sum_cell
        self.max = ops.ReduceMax()
        self.sum = ops.ReduceSum()
        self.exp = ops.Exp()
        self.log = ops.Log()
        self.one_hot = ops.OneHot()
        self.on = Tensor(1.0, ms.float32)
        self.off = Tensor(0.0, ms.float32)
        self.zeros_like = ops.ZerosLike()

    def construct(self, logits_NV: Tensor, labels_N: Tensor) -> Losses:
        """See `Losses`."""
        if self.padding > 0:
            real_NV = piece(logits_NV, 1, 0, self.rows - self.padding)
            logits_NV = mint.cat((real_NV, mint.full((logits_NV.shape[0], self.padding), _NO_ENTRY)), 1)
        maxima_RN = self.gather_maxima(self.max(logits_NV, -1).reshape((1, -1)))
        shifted_NV = logits_NV - self.max(maxima_RN, 0).reshape((-1, 1))
        powers_NV = self.exp(shifted_NV)
        own_N = labels_N - self.first
        sums_2N = self.sum_over_ranks(ops.stack((self.sum(powers_NV, -1), _own_entries(shifted_NV, own_N))))
        return self.log(sums_2N[0]) - sums_2N[1], powers_NV / sums_2N[0].reshape((-1, 1)), own_N

    def bprop(self, logits_NV: Tensor, labels_N: Tensor, out: Losses, dout: Losses) -> tuple[Tensor, Tensor]:
        """[N, V] for this rank's logits; the labels take none."""
        probabilities_NV = out[1]
        own_N = out[2]
        # A position outside the rows gives a row of zeros.
        hits_NV = self.one_hot(own_N, self.rows, self.on, self.off)
        return (probabilities_NV - hits_NV) * dout[0].reshape((-1, 1)), self.zeros_like(labels_N)


class VocabularyCrossEntropy(nn.Cell):
    """Cross entropy where each rank has the logits of its rows of the vocabulary; every rank gets all losses.

    Source: Shoeybi et al. 2019, Megatron-LM, section 3 (the loss over divided logits).
    """

    def __init__(self, communicator: Communicator, rows: int, vocab_size: int):
        """Takes the ranks that divide the vocabulary, the rows of each, and how many rows there are without padding."""
        super().__init__()
        past_the_end = (communicator.position + 1) * rows - vocab_size
        self.losses = _Losses(communicator, rows, min(max(past_the_end, 0), rows))

    def construct(self, logits_NV: Tensor, labels_N: Tensor) -> Tensor:
        """Negative log-likelihood of each label; as `mf_models.kernels.cross_entropy`.

        Args:
            logits_NV: [N, V], float32, those of this rank's rows.
            labels_N: [N], int32, of the whole vocabulary.

        Returns:
            [N], float32, the same on every rank.
        """
        return self.losses(logits_NV, labels_N)[0]


class VocabularyLabelLogits(nn.Cell):
    """The logit of each label where each rank has the logits of its rows of the vocabulary; every rank gets all."""

    def __init__(self, communicator: Communicator, rows: int):
        """Takes the ranks that divide the vocabulary, and the rows of each."""
        super().__init__()
        self.first = communicator.position * rows
        self.leave = Leave(communicator)

    def construct(self, logits_NV: Tensor, labels_N: Tensor) -> Tensor:
        """As `mf_models.kernels.cross_entropy.label_logits`.

        Args:
            logits_NV: [N, V], float32, those of this rank's rows.
            labels_N: [N], int32, of the whole vocabulary.

        Returns:
            [N], float32, the same on every rank.
        """
        return self.leave(_own_entries(logits_NV, labels_N - self.first))


def _own_entries(values_NV: Tensor, own_N: Tensor) -> Tensor:
    """[N], the entry of each row at a place among this rank's [N]; 0 where that is outside, for another rank has it."""
    here_N = ops.logical_and(own_N >= 0, own_N < values_NV.shape[1])
    picked_N = _pick(values_NV, 1, (own_N * here_N.astype(ms.int32)).reshape((-1, 1))).reshape((-1,))
    return picked_N * here_N.astype(ms.float32)

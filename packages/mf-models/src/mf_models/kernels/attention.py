"""Scaled dot-product attention with grouped key/value heads.

Legend: B batch, N query heads, K key/value heads, G = N / K, T query tokens, S key tokens, H head dim, V value
head dim. X = G * T: the queries of one group lie one below the other, so that keys and values are never repeated.
"""

from mindspore import Tensor, nn, ops

Pair = tuple[Tensor, Tensor]

Mask = tuple[Tensor, int | None]
"""What is added to the scores, [B or 1, T, S], and the `_span` of `attention`."""

_scores = ops.BatchMatMul(transpose_b=True)
_weigh = ops.BatchMatMul()
_weigh_transposed = ops.BatchMatMul(transpose_a=True)
_softmax = ops.Softmax(-1)
_sum = ops.ReduceSum(keep_dims=True)
_concat = ops.Concat(-1)
_ones_like = ops.OnesLike()
_zeros_like = ops.ZerosLike()


class _Attend(nn.Cell):
    """softmax(q k^T + mask) v, with its own backward.

    Automatic gradients end in an operator that takes nine times the forward softmax on CPU. Here the row sum that it
    subtracts travels as one more column of a matrix product: no broadcast over the [T, S] scores is left.
    Source: Dao et al. 2022, FlashAttention, appendix B.2 (row sums of dout * out in place of those of dP * P).
    """

    def construct(self, q_BKXH: Tensor, k_BKSH: Tensor, v_BKSV: Tensor, mask_BTS: Tensor) -> Pair:
        """Output [B, K, X, V] and probabilities [B, K, X, S]; the queries are scaled already."""
        batch, kv_heads, rows, _ = q_BKXH.shape
        tokens, keys = mask_BTS.shape[1:]
        scores_BKGTS = _scores(q_BKXH, k_BKSH).reshape((batch, kv_heads, -1, tokens, keys))
        scores_BKGTS = scores_BKGTS + mask_BTS.reshape((-1, 1, 1, tokens, keys))
        p_BKXS = _softmax(scores_BKGTS).reshape((batch, kv_heads, rows, keys))
        return _weigh(p_BKXS, v_BKSV), p_BKXS

    def bprop(
        self, q_BKXH: Tensor, k_BKSH: Tensor, v_BKSV: Tensor, mask_BTS: Tensor, out: Pair, dout: Pair
    ) -> tuple[Tensor, ...]:
        """Gradients of q, k and v, shaped like them; the mask takes none."""
        out_BKXV = out[0]
        p_BKXS = out[1]
        dout_BKXV = dout[0]
        delta_BKX1 = _sum(dout_BKXV * out_BKXV, -1)
        ones_BKS1 = _ones_like(v_BKSV[..., :1])
        ds_BKXS = p_BKXS * _scores(_concat((dout_BKXV, -delta_BKX1)), _concat((v_BKSV, ones_BKS1)))
        dq_BKXH = _weigh(ds_BKXS, k_BKSH)
        dk_BKSH = _weigh_transposed(ds_BKXS, q_BKXH)
        dv_BKSV = _weigh_transposed(p_BKXS, dout_BKXV)
        return dq_BKXH, dk_BKSH, dv_BKSV, _zeros_like(mask_BTS)


_attend = _Attend()


def attention(
    q_BNTH: Tensor, k_BKSH: Tensor, v_BKSV: Tensor, mask_BTS: Tensor, scale: float, _span: int | None = None
) -> Tensor:
    """Attend from each query to the keys that the mask leaves visible.

    Args:
        q_BNTH: [B, N, T, H] queries, float32. Query head n reads key/value head n // (N / K).
        k_BKSH: [B, K, S, H] keys.
        v_BKSV: [B, K, S, V] values.
        mask_BTS: [B or 1, T, S], added to the scores: 0 where visible, a large negative number elsewhere. Each query
            sees at least one key.
        scale: factor of the scores, usually 1 / sqrt(H).
        _span: where all that the mask says is that query t sees the last keys up to key t, how many these are; else
            None. Kernels of other devices need not read the mask then.

    Returns:
        [B, N, T, V].
    Source: Vaswani et al. 2017, Attention Is All You Need, equation 1; Ainslie et al. 2023, GQA, section 2.2.
    """
    batch, heads, tokens, head_dim = q_BNTH.shape
    kv_heads = k_BKSH.shape[1]
    q_BKXH = (q_BNTH * scale).reshape((batch, kv_heads, -1, head_dim))
    out_BKXV = _attend(q_BKXH, k_BKSH, v_BKSV, mask_BTS)[0]
    return out_BKXV.reshape((batch, heads, tokens, -1))

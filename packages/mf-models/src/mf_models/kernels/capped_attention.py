"""Attention whose scores approach a bound.

Legend as in `kernels.attention`: B batch, N query heads, K key/value heads, T query tokens, S key tokens, H head dim,
X = N / K * T queries of one group below each other.
"""

from mindspore import Tensor, nn, ops

Pair = tuple[Tensor, Tensor, Tensor]

_scores = ops.BatchMatMul(transpose_b=True)
_weigh = ops.BatchMatMul()
_weigh_transposed = ops.BatchMatMul(transpose_a=True)
_softmax = ops.Softmax(-1)
_tanh = ops.Tanh()
_sum = ops.ReduceSum(keep_dims=True)
_square = ops.Square()
_zeros_like = ops.ZerosLike()


class _AttendCapped(nn.Cell):
    """softmax(cap * tanh(q k^T) + mask) v, with its own backward: see `kernels.attention` for why."""

    def construct(self, q_BKXH: Tensor, k_BKSH: Tensor, v_BKSH: Tensor, mask_BTS: Tensor, cap: float) -> Pair:
        """Output [B, K, X, H], probabilities and capped shares [B, K, X, S]; the queries are scaled, and over cap."""
        batch, kv_heads, rows, _ = q_BKXH.shape
        tokens, keys = mask_BTS.shape[1:]
        share_BKXS = _tanh(_scores(q_BKXH, k_BKSH))
        scores_BKGTS = (share_BKXS * cap).reshape((batch, kv_heads, -1, tokens, keys)).astype(mask_BTS.dtype)
        scores_BKGTS = scores_BKGTS + mask_BTS.reshape((-1, 1, 1, tokens, keys))
        p_BKXS = _softmax(scores_BKGTS).astype(v_BKSH.dtype).reshape((batch, kv_heads, rows, keys))
        return _weigh(p_BKXS, v_BKSH), p_BKXS, share_BKXS

    def bprop(
        self,
        q_BKXH: Tensor,
        k_BKSH: Tensor,
        v_BKSH: Tensor,
        mask_BTS: Tensor,
        cap: float,
        out: Pair,
        dout: Pair,
    ) -> tuple[Tensor | float, ...]:
        """Gradients of q, k and v, shaped like them; mask and cap take none."""
        out_BKXH = out[0]
        p_BKXS = out[1]
        share_BKXS = out[2]
        dout_BKXH = dout[0]
        delta_BKX1 = _sum(dout_BKXH * out_BKXH, -1)
        dcapped_BKXS = p_BKXS * (_scores(dout_BKXH, v_BKSH) - delta_BKX1) * cap
        ds_BKXS = dcapped_BKXS - dcapped_BKXS * _square(share_BKXS)
        dq_BKXH = _weigh(ds_BKXS, k_BKSH)
        dk_BKSH = _weigh_transposed(ds_BKXS, q_BKXH)
        dv_BKSH = _weigh_transposed(p_BKXS, dout_BKXH)
        return dq_BKXH, dk_BKSH, dv_BKSH, _zeros_like(mask_BTS), cap * 0.0


_attend_capped = _AttendCapped()


def capped_attention(
    q_BNTH: Tensor, k_BKSH: Tensor, v_BKSH: Tensor, mask_BTS: Tensor, scale: float, cap: float
) -> Tensor:
    """As `attention`, but each score s becomes cap * tanh(s / cap) before the mask.

    Args:
        q_BNTH: [B, N, T, H] queries, of any float type. Query head n reads key/value head n // (N / K).
        k_BKSH: [B, K, S, H] keys.
        v_BKSH: [B, K, S, H] values.
        mask_BTS: [B or 1, T, S], added to the scores: 0 where visible, a large negative number elsewhere. Each query
            sees at least one key. Its type is that of the softmax.
        scale: factor of the scores, usually 1 / sqrt(H).
        cap: above 0.

    Returns:
        [B, N, T, H].
    Source: Gemma Team 2024, Gemma 2, section 2 (logit soft-capping).
    """
    batch, heads, tokens, head_dim = q_BNTH.shape
    kv_heads = k_BKSH.shape[1]
    q_BKXH = (q_BNTH * (scale / cap)).reshape((batch, kv_heads, -1, head_dim))
    out_BKXH = _attend_capped(q_BKXH, k_BKSH, v_BKSH, mask_BTS, cap)[0]
    return out_BKXH.reshape((batch, heads, tokens, head_dim))

"""Attention whose mask differs from head to head, or whose weights are dropped.

Legend as in `kernels.attention`: B batch, N query heads, K key/value heads, G = N / K, T query tokens, S key tokens,
H head dim, V value head dim, X = G * T queries of one group below each other.
"""

from mindspore import Tensor, ops

_scores = ops.BatchMatMul(transpose_b=True)
_weigh = ops.BatchMatMul()
_softmax = ops.Softmax(-1)


def general_attention(
    q_BNTH: Tensor, k_BKSH: Tensor, v_BKSV: Tensor, mask_BNTS: Tensor, scale: float, factors_BNTS: Tensor | None = None
) -> Tensor:
    """As `attention`, with a mask of each head and factors of the weights; its gradients are automatic.

    Args:
        q_BNTH: [B, N, T, H] queries, of any float type. Query head n reads key/value head n // (N / K).
        k_BKSH: [B, K, S, H] keys.
        v_BKSV: [B, K, S, V] values.
        mask_BNTS: [B or 1, N or 1, T, S], added to the scores: a large negative number where a key is hidden. Each
            query sees at least one key. Its type is that of the softmax.
        scale: factor of the scores, usually 1 / sqrt(H).
        factors_BNTS: [B, N, T, S], multiplied into the weights after the softmax; None for 1.

    Returns:
        [B, N, T, V].
    Source: Vaswani et al. 2017, Attention Is All You Need, equation 1; Press et al. 2021, Train Short, Test Long.
    """
    batch, heads, tokens, head_dim = q_BNTH.shape
    kv_heads, keys = k_BKSH.shape[1:3]
    q_BKXH = (q_BNTH * scale).reshape((batch, kv_heads, -1, head_dim))
    scores_BNTS = _scores(q_BKXH, k_BKSH).reshape((batch, heads, tokens, keys)).astype(mask_BNTS.dtype) + mask_BNTS
    weights_BNTS = _softmax(scores_BNTS)
    if factors_BNTS is not None:
        weights_BNTS = weights_BNTS * factors_BNTS
    out_BKXV = _weigh(weights_BNTS.reshape((batch, kv_heads, -1, keys)).astype(v_BKSV.dtype), v_BKSV)
    return out_BKXV.reshape((batch, heads, tokens, -1))

"""Scaled dot-product attention by FlashAttentionScore, which never holds the scores of all keys at once.

Legend: B batch, N query heads, K key/value heads, T query tokens, S key tokens, H width of query and key heads, V width
of value heads, W width that the operator works with, C = rotated part of H / 2; ... dims in the order of a layout.
"""

import mindspore as ms
from mindspore import Tensor, ops
from mindspore.ops.auto_generate import FlashAttentionScore

from mf_models.kernels.ascend.rotary import turn
from mf_models.kernels.general_attention import general_attention as composed_attention

Heads = tuple[Tensor, Tensor, Tensor]
"""Queries, keys and values, all in one layout of the operator."""

_concat = ops.Concat(-1)

_ALL_TOKENS = 2**31 - 1
"""The operator's word for no limit."""

_TRIANGLE = 2048
"""Side of the mask from which the operator reads every causal mask, whatever its size."""

_LANES = 16
"""The operator wants head widths that are multiples of this."""

_FAR = -1e8
"""Masks have far lower numbers where a key is hidden; a penalty of distance does not reach it."""

_WHOLE_MASK, _CAUSAL, _BAND = 1, 2, 4
"""Modes of the operator: how it reads its mask."""

_HEADS_FIRST, _TOKENS_FIRST = "BNSD", "BSND"
"""The operator's names of the layouts [B, N, T, H] and [B, T, N, H]."""


def attention(
    q_BNTH: Tensor, k_BKSH: Tensor, v_BKSV: Tensor, mask_BTS: Tensor, scale: float, span: int | None = None
) -> Tensor:
    """As `mf_models.kernels.attention.attention`.

    float16 and bfloat16 are computed as they are, float32 as bfloat16: the operator has no float32, and float16 would
    overflow where float32 does not. Where `span` is given, the mask is not read, so that the compiler never makes it.
    """
    tokens = q_BNTH.shape[2]
    if span is None:
        batch, _, keys = mask_BTS.shape
        hidden = _hidden(mask_BTS.reshape((batch, 1, tokens, keys)), q_BNTH.shape[0])
        attend = FlashAttentionScore(
            q_BNTH.shape[1], 1.0, scale, _ALL_TOKENS, _ALL_TOKENS, 0, _HEADS_FIRST, _WHOLE_MASK
        )
        return _attend(attend, (q_BNTH, k_BKSH, v_BKSV), None, hidden)
    return _attend_causally((q_BNTH, k_BKSH, v_BKSV), (_HEADS_FIRST, q_BNTH.shape[1], tokens), scale, span)


def rotary_attention(
    q_BTNH: Tensor, k_BTKH: Tensor, v_BTKH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor, scale: float, span: int
) -> Tensor:
    """As `mf_models.kernels.native.operators.NativeAttention`; [B, T, N, H].

    The operators take the projections' layout as it is, so that no tensor is transposed, forward or backward.
    """
    batch, _, tokens, half = cos_B1TC.shape
    cos_BT1C = cos_B1TC.reshape((batch, tokens, 1, half))
    sin_BT1C = sin_B1TC.reshape((batch, tokens, 1, half))
    heads = turn(q_BTNH, cos_BT1C, sin_BT1C), turn(k_BTKH, cos_BT1C, sin_BT1C), v_BTKH
    return _attend_causally(heads, (_TOKENS_FIRST, q_BTNH.shape[2], tokens), scale, span)


def general_attention(
    q_BNTH: Tensor, k_BKSH: Tensor, v_BKSV: Tensor, mask_BNTS: Tensor, scale: float, factors_BNTS: Tensor | None = None
) -> Tensor:
    """As `mf_models.kernels.general_attention.general_attention`; [B, N, T, V].

    Factors of the weights have no place in the operator: with them the scores are composed as on CPU.
    """
    if factors_BNTS is not None:
        return composed_attention(q_BNTH, k_BKSH, v_BKSV, mask_BNTS, scale, factors_BNTS)
    batch, heads, tokens, _ = q_BNTH.shape
    # The operator scales the shift too: scale * (q k^T + shift).
    shift_BNTS = (mask_BNTS / scale).astype(_narrow_type(q_BNTH))
    shift_BNTS = ops.broadcast_to(shift_BNTS, (mask_BNTS.shape[0], heads, tokens, k_BKSH.shape[2]))
    # What is hidden is hidden from all heads.
    hidden = _hidden(mask_BNTS[:, :1], batch)
    attend = FlashAttentionScore(heads, 1.0, scale, _ALL_TOKENS, _ALL_TOKENS, 0, _HEADS_FIRST, _WHOLE_MASK)
    return _attend(attend, (q_BNTH, k_BKSH, v_BKSV), shift_BNTS, hidden)


def _attend_causally(heads: Heads, sizes: tuple[str, int, int], scale: float, span: int) -> Tensor:
    """Attention from each query to the last `span` keys up to its own.

    Args:
        heads: see `_attend`.
        sizes: layout, query heads and tokens.
        scale: factor of the scores.
        span: how many keys a query sees at most.
    """
    layout, query_heads, tokens = sizes
    mode, before = (_CAUSAL, _ALL_TOKENS) if span >= tokens else (_BAND, span - 1)
    places = ops.arange(_TRIANGLE)
    hidden = places.reshape((1, -1)) > places.reshape((-1, 1))
    attend = FlashAttentionScore(query_heads, 1.0, scale, before, 0, 0, layout, mode)
    return _attend(attend, heads, None, hidden)


def _attend(attend: FlashAttentionScore, heads: Heads, shift: Tensor | None, hidden: Tensor) -> Tensor:
    """The operator's result [..., V] in the layout and the type of the queries."""
    q, k, v = heads
    value_dim = v.shape[3]
    width = -(-max(q.shape[3], value_dim) // _LANES) * _LANES
    out = attend(_widened(q, width), _widened(k, width), _widened(v, width), shift, None, None, hidden)[3]
    return out[..., :value_dim].astype(q.dtype)


def _hidden(mask_B1TS: Tensor, batch: int) -> Tensor:
    """True where a key is out of sight, [B, 1, T, S]."""
    return ops.broadcast_to(mask_B1TS < _FAR, (batch, *mask_B1TS.shape[1:]))


def _widened(x: Tensor, width: int) -> Tensor:
    """Heads [..., W] in a type that the operator has; zeros behind each head change no score and no result."""
    missing = width - x.shape[3]
    if missing > 0:
        x = _concat((x, ops.zeros((*x.shape[:3], missing), x.dtype)))
    return x.astype(_narrow_type(x))


def _narrow_type(x: Tensor) -> ms.Type:
    """A type that the operator has, for a tensor of any float type."""
    return ms.bfloat16 if x.dtype == ms.float32 else x.dtype

"""Scaled dot-product attention by FlashAttentionScore, which never holds the scores of all keys at once.

Legend: B batch, N query heads, K key/value heads, T query tokens, S key tokens, H width of query and key heads, V width
of value heads, W width that the operator works with.
"""

import mindspore as ms
from mindspore import Tensor, ops
from mindspore.ops.auto_generate import FlashAttentionScore

from mf_models.kernels.general_attention import general_attention as composed_attention

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
        attend = FlashAttentionScore(q_BNTH.shape[1], 1.0, scale, _ALL_TOKENS, _ALL_TOKENS, 0, "BNSD", _WHOLE_MASK)
        return _attend(attend, (q_BNTH, k_BKSH, v_BKSV), None, hidden)
    mode, before = (_CAUSAL, _ALL_TOKENS) if span >= tokens else (_BAND, span - 1)
    places = ops.arange(_TRIANGLE)
    hidden = places.reshape((1, -1)) > places.reshape((-1, 1))
    attend = FlashAttentionScore(q_BNTH.shape[1], 1.0, scale, before, 0, 0, "BNSD", mode)
    return _attend(attend, (q_BNTH, k_BKSH, v_BKSV), None, hidden)


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
    attend = FlashAttentionScore(heads, 1.0, scale, _ALL_TOKENS, _ALL_TOKENS, 0, "BNSD", _WHOLE_MASK)
    return _attend(attend, (q_BNTH, k_BKSH, v_BKSV), shift_BNTS, hidden)


def _attend(
    attend: FlashAttentionScore, heads: tuple[Tensor, Tensor, Tensor], shift: Tensor | None, hidden: Tensor
) -> Tensor:
    """The operator's result [B, N, T, V], in the type of the queries."""
    q_BNTH, k_BKSH, v_BKSV = heads
    value_dim = v_BKSV.shape[3]
    width = -(-max(q_BNTH.shape[3], value_dim) // _LANES) * _LANES
    q_BNTW, k_BKSW, v_BKSW = _widened(q_BNTH, width), _widened(k_BKSH, width), _widened(v_BKSV, width)
    out_BNTW = attend(q_BNTW, k_BKSW, v_BKSW, shift, None, None, hidden)[3]
    return out_BNTW[..., :value_dim].astype(q_BNTH.dtype)


def _hidden(mask_B1TS: Tensor, batch: int) -> Tensor:
    """True where a key is out of sight, [B, 1, T, S]."""
    return ops.broadcast_to(mask_B1TS < _FAR, (batch, *mask_B1TS.shape[1:]))


def _widened(x_BNTH: Tensor, width: int) -> Tensor:
    """Heads [B, N, T, W] in a type that the operator has; zeros behind each head change no score and no result."""
    missing = width - x_BNTH.shape[3]
    if missing > 0:
        x_BNTH = _concat((x_BNTH, ops.zeros((*x_BNTH.shape[:3], missing), x_BNTH.dtype)))
    return x_BNTH.astype(_narrow_type(x_BNTH))


def _narrow_type(x: Tensor) -> ms.Type:
    """A type that the operator has, for a tensor of any float type."""
    return ms.bfloat16 if x.dtype == ms.float32 else x.dtype

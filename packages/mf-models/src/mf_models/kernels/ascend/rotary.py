"""Rotary position embedding by RotaryPositionEmbedding. Legend as in `mf_models.kernels.rotary`; E = 2 C."""

from mindspore import Tensor, ops
from mindspore.ops.auto_generate import rotary_position_embedding

from mf_models.kernels.rotary import rotate as composed_rotation

_concat = ops.Concat(-1)

_PAIRS_APART = 0
"""The operator's mode for pairs (x[i], x[i + C])."""

_MOST_HEADS = 8
"""Heads of all rows together, for each token, that the operator takes where heads stand before tokens."""


def rotate(x_BNTH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor) -> Tensor:
    """As `mf_models.kernels.rotary.rotate`; [B, N, T, H] to [B, N, T, H].

    The rotation is computed in the type of the angles, and its result has that of the heads.
    """
    batch, heads, tokens, _ = x_BNTH.shape
    if batch * heads > _MOST_HEADS * tokens:
        return composed_rotation(x_BNTH.astype(cos_B1TC.dtype), cos_B1TC, sin_B1TC).astype(x_BNTH.dtype)
    return turn(x_BNTH, cos_B1TC, sin_B1TC)


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The operator's rotation, see `rotate`.

    Args:
        x: [B, N, T, H], or [B, T, N, H], of which it takes any number of heads.
        cos: [B or 1, 1, T, C], or [B or 1, T, 1, C].
        sin: likewise.

    Returns:
        What has the shape of `x`.
    """
    turned_dim = 2 * cos.shape[-1]
    # The operator takes an angle for each element; the compiler makes these once for all layers.
    cos_E = _concat((cos, cos))
    sin_E = _concat((sin, sin))
    first_E = x[..., :turned_dim].astype(cos.dtype)
    turned_E = rotary_position_embedding(first_E, cos_E, sin_E, _PAIRS_APART).astype(x.dtype)
    if turned_dim == x.shape[-1]:
        return turned_E
    return _concat((turned_E, x[..., turned_dim:]))

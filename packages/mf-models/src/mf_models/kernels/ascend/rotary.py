"""Rotary position embedding by RotaryPositionEmbedding. Legend as in `mf_models.kernels.rotary`; E = 2 C."""

from mindspore import Tensor, ops
from mindspore.ops.auto_generate import rotary_position_embedding

_concat = ops.Concat(-1)

_PAIRS_APART = 0
"""The operator's mode for pairs (x[i], x[i + C])."""


def rotate(x_BNTH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor) -> Tensor:
    """As `mf_models.kernels.rotary.rotate`; [B, N, T, H] to [B, N, T, H].

    The rotation is computed in the type of the angles, and its result has that of the heads.
    """
    turned_dim = 2 * cos_B1TC.shape[-1]
    # The operator takes an angle for each element; the compiler makes these once for all layers.
    cos_B1TE = _concat((cos_B1TC, cos_B1TC))
    sin_B1TE = _concat((sin_B1TC, sin_B1TC))
    first_BNTE = x_BNTH[..., :turned_dim].astype(cos_B1TC.dtype)
    turned_BNTE = rotary_position_embedding(first_BNTE, cos_B1TE, sin_B1TE, _PAIRS_APART).astype(x_BNTH.dtype)
    if turned_dim == x_BNTH.shape[-1]:
        return turned_BNTE
    return _concat((turned_BNTE, x_BNTH[..., turned_dim:]))

"""Rotary position embedding. Legend: B batch, N heads, T tokens, H head dim, C = H / 2."""

from mindspore import Tensor, nn, ops

Gradients = tuple[Tensor, ...]

_concat = ops.Concat(-1)
_zeros_like = ops.ZerosLike()


class _Rotate(nn.Cell):
    """Rotation with its own backward: automatic gradients of slice and concat take about nine times as long on CPU."""

    def construct(self, x_BNTH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor) -> Tensor:
        """Shapes as in `rotate`."""
        half = x_BNTH.shape[-1] // 2
        first = x_BNTH[..., :half]
        second = x_BNTH[..., half:]
        return _concat((first * cos_B1TC - second * sin_B1TC, second * cos_B1TC + first * sin_B1TC))

    def bprop(self, x_BNTH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor, out: Tensor, dout_BNTH: Tensor) -> Gradients:
        """Rotate the gradient [B, N, T, H] by the negative angle."""
        half = dout_BNTH.shape[-1] // 2
        first = dout_BNTH[..., :half]
        second = dout_BNTH[..., half:]
        dx_BNTH = _concat((first * cos_B1TC + second * sin_B1TC, second * cos_B1TC - first * sin_B1TC))
        return dx_BNTH, _zeros_like(cos_B1TC), _zeros_like(sin_B1TC)


_rotate = _Rotate()


def rotate(x_BNTH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor) -> Tensor:
    """Turn each pair (x[i], x[i + H/2]) by its angle.

    Args:
        x_BNTH: [B, N, T, H] queries or keys, H even.
        cos_B1TC: [B or 1, 1, T, H/2] cosines of the angles; they take no gradient.
        sin_B1TC: [B or 1, 1, T, H/2] sines.

    Returns:
        [B, N, T, H].
    Source: Su et al. 2021, RoFormer, equation 34, with the pairs half a head apart as in Hugging Face Llama weights.
    """
    return _rotate(x_BNTH, cos_B1TC, sin_B1TC)

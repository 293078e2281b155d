"""Rotary position embedding. Legend: B batch, N heads, T tokens, H head dim, C = rotated part of H / 2."""

from mindspore import Tensor, nn, ops

Tensors = tuple[Tensor, ...]

_concat = ops.Concat(-1)
_zeros_like = ops.ZerosLike()


class _Rotate(nn.Cell):
    """Rotation with its own backward: automatic gradients of slice and concat take about nine times as long on CPU."""

    def construct(self, x_BNTH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor) -> Tensor:
        """Shapes as in `rotate`."""
        half = cos_B1TC.shape[-1]
        first = x_BNTH[..., :half]
        second = x_BNTH[..., half : 2 * half]
        turned: Tensors = (first * cos_B1TC - second * sin_B1TC, second * cos_B1TC + first * sin_B1TC)
        if 2 * half < x_BNTH.shape[-1]:
            turned = (*turned, x_BNTH[..., 2 * half :])
        return _concat(turned)

    def bprop(self, x_BNTH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor, out: Tensor, dout_BNTH: Tensor) -> Tensors:
        """Rotate the gradient [B, N, T, H] by the negative angle."""
        half = cos_B1TC.shape[-1]
        first = dout_BNTH[..., :half]
        second = dout_BNTH[..., half : 2 * half]
        turned: Tensors = (first * cos_B1TC + second * sin_B1TC, second * cos_B1TC - first * sin_B1TC)
        if 2 * half < x_BNTH.shape[-1]:
            turned = (*turned, dout_BNTH[..., 2 * half :])
        return _concat(turned), _zeros_like(cos_B1TC), _zeros_like(sin_B1TC)


_rotate = _Rotate()


def rotate(x_BNTH: Tensor, cos_B1TC: Tensor, sin_B1TC: Tensor) -> Tensor:
    """Turn each pair (x[i], x[i + C]) of the first 2 C elements of a head by its angle; the others stay.

    Args:
        x_BNTH: [B, N, T, H] queries or keys; H is at least 2 C.
        cos_B1TC: [B or 1, 1, T, C] cosines of the angles; they take no gradient.
        sin_B1TC: [B or 1, 1, T, C] sines.

    Returns:
        [B, N, T, H].
    Source: Su et al. 2021, RoFormer, equation 34, with the pairs C apart as in Hugging Face Llama weights.
    """
    return _rotate(x_BNTH, cos_B1TC, sin_B1TC)

"""The operators of the compiled library as cells, with their gradients.

Each stands for the composed function of the same name, whose arguments and results it has, and takes and gives floats
in float32 alone. Legend: B rows, T tokens, N query heads, K key/value heads, H head dim, C = rotated part of H / 2, V
vocabulary; ... any leading dims, D and F the last one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
from mindspore import Tensor, nn, ops

_zeros_like = ops.ZerosLike()

Shape = list[int]


def _operator(library: Path, name: str, shapes: Callable[..., Any], outputs: int, bprop: Any = None) -> Any:
    """An operator of the library, all of whose outputs are float32.

    Args:
        library: its absolute path; MindSpore would look a relative one up in the working directory.
        name: the operator.
        shapes: from the inputs' shapes to those of the outputs.
        outputs: how many there are.
        bprop: its gradient; None where it has none.
    """
    types = ms.float32 if outputs == 1 else (ms.float32,) * outputs
    return ops.Custom(f"{library}:{name}", out_shape=shapes, out_dtype=types, func_type="aot", bprop=bprop)


class NativeAttention(nn.Cell):
    """Causal attention with rotary positions, straight from the projections' layout, without a matrix of all scores.

    Source: Dao et al. 2022, FlashAttention, algorithms 1 and 4.
    """

    def __init__(self, library: Path):
        """Takes the compiled library."""
        super().__init__()

        def forward_shapes(q: Shape, _k: Shape, _v: Shape, _cos: Shape, _sin: Shape, _numbers: Shape) -> Any:
            return q, [q[0], q[2], q[1]]

        def backward_shapes(q: Shape, k: Shape, v: Shape, *_: Shape) -> Any:
            return q, k, v

        backward = _operator(library, "mf_attention_backward", backward_shapes, 3)

        # MindSpore hands over all inputs, then the outputs and their gradients.
        def bprop(q: Any, k: Any, v: Any, cos: Any, sin: Any, numbers: Any, out: Any, dout: Any) -> Any:  # noqa: PLR0913
            dq, dk, dv = backward(q, k, v, cos, sin, numbers, out[0], out[1], dout[0])
            return dq, dk, dv, _zeros_like(cos), _zeros_like(sin), _zeros_like(numbers)

        self.operator = _operator(library, "mf_attention", forward_shapes, 2, bprop)
        self.numbers = ops.tuple_to_array

    def construct(
        self,
        q_BTNH: Tensor,
        k_BTKH: Tensor,
        v_BTKH: Tensor,
        cos_B1TC: Tensor,
        sin_B1TC: Tensor,
        scale: float,
        span: int,
    ) -> Tensor:
        """Rotate queries and keys, then attend from each query to the last keys up to its own.

        Args:
            q_BTNH: [B, T, N, H].
            k_BTKH: [B, T, K, H].
            v_BTKH: [B, T, K, H].
            cos_B1TC: [B or 1, 1, T, C].
            sin_B1TC: likewise.
            scale: factor of the scores.
            span: how many keys a query sees at most, its own among them.

        Returns:
            [B, T, N, H].
        """
        numbers = self.numbers((float(scale), float(span), float(cos_B1TC.shape[-1])))
        cos_BTC = cos_B1TC.reshape((-1, *cos_B1TC.shape[2:]))
        sin_BTC = sin_B1TC.reshape((-1, *sin_B1TC.shape[2:]))
        out_BTNH: Tensor = self.operator(q_BTNH, k_BTKH, v_BTKH, cos_BTC, sin_BTC, numbers)[0]
        return out_BTNH


class NativeRmsNorm(nn.Cell):
    """See `mf_models.kernels.rms_norm`."""

    def __init__(self, library: Path):
        """Takes the compiled library."""
        super().__init__()

        def forward_shapes(x: Shape, _weight: Shape, _epsilon: Shape) -> Any:
            return x, x[:-1]

        def backward_shapes(x: Shape, weight: Shape, *_: Shape) -> Any:
            return x, weight

        backward = _operator(library, "mf_rms_norm_backward", backward_shapes, 2)

        def bprop(x: Any, weight: Any, epsilon: Any, out: Any, dout: Any) -> Any:
            dx, dweight = backward(x, weight, out[1], dout[0])
            return dx, dweight, _zeros_like(epsilon)

        self.operator = _operator(library, "mf_rms_norm", forward_shapes, 2, bprop)
        self.numbers = ops.tuple_to_array

    def construct(self, x: Tensor, weight_D: Tensor, epsilon: float) -> Tensor:
        """[..., D] to [..., D]."""
        y: Tensor = self.operator(x, weight_D, self.numbers((float(epsilon),)))[0]
        return y


class NativeSwiglu(nn.Cell):
    """See `mf_models.kernels.swiglu`."""

    def __init__(self, library: Path):
        """Takes the compiled library."""
        super().__init__()

        def forward_shapes(gate: Shape, _up: Shape) -> Any:
            return gate

        def backward_shapes(gate: Shape, up: Shape, _gradient: Shape) -> Any:
            return gate, up

        backward = _operator(library, "mf_swiglu_backward", backward_shapes, 2)

        def bprop(gate: Any, up: Any, _out: Any, dout: Any) -> Any:
            return backward(gate, up, dout)

        self.operator = _operator(library, "mf_swiglu", forward_shapes, 1, bprop)

    def construct(self, gate: Tensor, up: Tensor) -> Tensor:
        """[..., F] twice to [..., F]."""
        out: Tensor = self.operator(gate, up)
        return out


class NativeCrossEntropy(nn.Cell):
    """See `mf_models.kernels.cross_entropy`."""

    def __init__(self, library: Path):
        """Takes the compiled library."""
        super().__init__()

        def forward_shapes(logits: Shape, _labels: Shape) -> Any:
            return [logits[0]], [logits[0]]

        def backward_shapes(logits: Shape, *_: Shape) -> Any:
            return logits

        backward = _operator(library, "mf_cross_entropy_backward", backward_shapes, 1)

        def bprop(logits: Any, labels: Any, out: Any, dout: Any) -> Any:
            return backward(logits, labels, out[1], dout[0]), _zeros_like(labels)

        self.operator = _operator(library, "mf_cross_entropy", forward_shapes, 2, bprop)

    def construct(self, logits_NV: Tensor, labels_N: Tensor) -> Tensor:
        """[N, V] and [N] int32 to [N]."""
        losses_N: Tensor = self.operator(logits_NV, labels_N)[0]
        return losses_N


class NativeGlobalNorm(nn.Cell):
    """See `mf_models.kernels.global_norm`; it has no gradient."""

    def __init__(self, library: Path):
        """Takes the compiled library."""
        super().__init__()

        def shapes(*_: Shape) -> Any:
            return [1]

        self.operator = _operator(library, "mf_global_norm", shapes, 1)

    def construct(self, tensors: tuple[Tensor, ...]) -> Tensor:
        """Tensors of any shape to []."""
        norm: Tensor = self.operator(*tensors).reshape(())
        return norm


class NativeInt8Linear(nn.Cell):
    """See `mf_models.kernels.int8_linear`; it has no gradient."""

    def __init__(self, library: Path):
        """Takes the compiled library."""
        super().__init__()

        def shapes(x: Shape, weight: Shape, *_: Shape) -> Any:
            return [*x[:-1], weight[0]]

        self.operator = _operator(library, "mf_int8_linear", shapes, 1)

    def construct(self, x: Tensor, weight_FGI: Tensor, scale_FG: Tensor, offset_FG: Tensor | None = None) -> Tensor:
        """[..., D], [F, G, 32], [F, G] and perhaps [F, G] to [..., F]."""
        if offset_FG is None:
            y: Tensor = self.operator(x, weight_FGI, scale_FG)
        else:
            y = self.operator(x, weight_FGI, scale_FG, offset_FG)
        return y

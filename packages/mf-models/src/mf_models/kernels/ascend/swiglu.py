"""Gated activation by Swiglu. Legend: F inner dim, ... any leading dims."""

from mindspore import Tensor, ops

_concat = ops.Concat(-1)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """As `mf_models.kernels.swiglu.swiglu`; two tensors [..., F] to [..., F]."""
    return ops.swiglu(_concat((gate, up)), -1)

"""Gated activation. Legend: F inner dim, ... any leading dims."""

from mindspore import Tensor, mint


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up, elementwise.

    Args:
        gate: [..., F], float32.
        up: [..., F], float32.

    Returns:
        [..., F], float32.
    Source: Shazeer 2020, GLU Variants Improve Transformer, section 2.
    """
    return mint.nn.functional.silu(gate) * up

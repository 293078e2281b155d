"""Gated activation with GELU. Legend: F inner dim, ... any leading dims."""

from mindspore import Tensor

from mf_models.kernels.gelu import gelu


def geglu(gate: Tensor, up: Tensor) -> Tensor:
    """gelu(gate) * up, elementwise.

    Args:
        gate: [..., F], float32.
        up: [..., F], float32.

    Returns:
        [..., F], float32.
    Source: Shazeer 2020, GLU Variants Improve Transformer, section 2.
    """
    return gelu(gate) * up

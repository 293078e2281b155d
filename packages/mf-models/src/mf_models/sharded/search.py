"""Gives a finished network operations that MindSpore's searches for a layout can divide."""

from mindspore import nn

from mf_models.kernels.select import select_kernels
from mf_models.kernels.swiglu import swiglu
from mf_models.layers.mlp import GatedMlp


def compose_gates(network: nn.Cell) -> None:
    """Put a composition of small operators in the place of each fused gate.

    The fused one joins its two halves along the features, which a search likes to divide, and then fails.

    Args:
        network: made while `mf_parallel.automatic.context.AutomaticParallelism` is active, not compiled yet.
    """
    fused = select_kernels().swiglu
    for _, cell in network.cells_and_names():
        if isinstance(cell, GatedMlp) and cell.gate is fused:
            cell.gate = swiglu

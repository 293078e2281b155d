"""Experts that are divided among ranks: rows of tokens travel to the rank of their expert, and back.

Legend: E experts, R rows of an expert on each rank, D model dim, N ranks.
"""

from typing import Any

from mindspore import Tensor, nn

from mf_parallel.axes import AxisCommunicators
from mf_parallel.collectives import Communicator
from mf_parallel.plan import ParallelPlan
from mf_parallel.regions import Exchange

AXIS = "ep"

_EXPERTS, _ROWS = 0, 1
"""Dims of the rows of all experts, [E, R, D]."""


class ExpertRegion(nn.Cell):
    """Experts of which each rank has some, between two exchanges of rows.

    Source: Lepikhin et al. 2020, GShard, section 3.
    """

    def __init__(self, experts: nn.Cell, communicator: Communicator):
        """Takes this rank's experts, and the ranks that divide them; names of parameters stay as they are."""
        super().__init__(auto_prefix=False)
        self.experts = experts
        self.to_experts = Exchange(communicator, _EXPERTS, _ROWS)
        self.to_tokens = Exchange(communicator, _ROWS, _EXPERTS)

    def construct(self, x_ERD: Tensor, expert_X: None = None) -> Tensor:
        """[E, R, D] to [E, R, D]: the experts see [E / N, N * R, D].

        Args:
            x_ERD: as many rows for each expert on every rank, zeros where there are fewer tokens.
            expert_X: None, for block x is of expert x.
        """
        return self.to_tokens(self.experts(self.to_experts(x_ERD)))


def divide_experts(model: nn.Cell, plan: ParallelPlan, axes: AxisCommunicators) -> None:
    """Let rows travel to the experts of a network that the `ep` ranks divide; nothing where there is one rank.

    Args:
        model: a network whose parameters are named by the path of their cells. The cell that holds all experts of a
            block is in one that decides by `block_rows` how many rows a block has; 0 is one block an expert.
        plan: the layout of all its parameters.
        axes: this rank's communicators.
    """
    if axes.degree(AXIS) == 1:
        return
    cells: dict[str, Any] = dict(model.cells_and_names())
    divided = [name for name, parameter in plan.parameters.items() if AXIS in parameter.axes]
    for path in dict.fromkeys(name.rsplit(".", 2)[0] for name in divided):
        parent, _, name = path.rpartition(".")
        if parent in cells:
            holder = cells[parent]
            holder.insert_child_to_cell(name, ExpertRegion(getattr(holder, name), axes.along(AXIS)))
            holder.block_rows = _one_block_an_expert


def _one_block_an_expert(tokens: int, chosen: int, experts: int) -> int:
    """Blocks of the same size for every expert and rank, or the ranks' messages would not fit."""
    return 0

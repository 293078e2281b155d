"""What is said to MindSpore of single parameters and cells, and what it says of them afterwards."""

from collections.abc import Mapping

from mindspore import Parameter, nn
from mindspore.communication import HCCL_WORLD_COMM_GROUP, get_group_size, get_rank
from mindspore.communication.management import get_process_group_ranks

from mf_parallel.automatic.held import Reported
from mf_parallel.names import first_number
from mf_parallel.optimizer_sharding import AXIS
from mf_parallel.plan import ParallelPlan

_MATRIX, _MAP, _GROUP, _SHAPE = 0, 1, 5, 6
"""Places in what MindSpore reports of a parameter."""


def mark_parameters(parameters: Mapping[str, Parameter], plan: ParallelPlan) -> None:
    """Say which parameters the parallel optimizer divides.

    Args:
        parameters: those of the network, by name.
        plan: the layout of the optimizer's state, see `mf_parallel.automatic.sharing`.
    """
    for name, parameter in parameters.items():
        parameter.parallel_optimizer = AXIS in plan.parameters[name].axes


def mark_stages(cells: Mapping[str, nn.Cell], plan: ParallelPlan) -> None:
    """Say which pipeline stage computes each part of a network.

    Where stages have several chunks, MindSpore counts those by the order of the blocks.

    Args:
        cells: those that own parameters, and blocks, by their names in the network.
        plan: the layout of its parameters.
    """
    for name, parameter in plan.parameters.items():
        path = name.rpartition(".")[0]
        if first_number(name) is None:
            cells[path].pipeline_stage = parameter.stages[0]
        else:
            block = _block_of(name)
            cells[block].pipeline_stage = parameter.stages[0]


def reported(step: nn.Cell) -> dict[str, Reported]:
    """How the parameters of a compiled step are divided.

    Args:
        step: compiled while `AutomaticParallelism.active`.
    """
    found = {}
    for name, layout in step.parameter_layout_dict.items():
        sharer, sharers = 0, 1
        if layout[_GROUP]:
            ranks = _ranks_of(layout[_GROUP])
            sharer, sharers = ranks.index(get_rank()), len(ranks)
        found[name] = Reported(tuple(layout[_SHAPE]), tuple(layout[_MATRIX]), tuple(layout[_MAP]), sharer, sharers)
    return found


def _ranks_of(group: str) -> list[int]:
    """The ranks of one of MindSpore's groups, ascending; it knows those of the group of all only on a real device."""
    return list(range(get_group_size())) if group == HCCL_WORLD_COMM_GROUP else get_process_group_ranks(group)


def _block_of(name: str) -> str:
    """The path of the block that has a parameter: all up to its number."""
    words = name.split(".")
    return ".".join(words[: next(place for place, word in enumerate(words) if word.isdigit()) + 1])

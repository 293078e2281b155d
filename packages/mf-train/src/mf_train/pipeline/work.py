"""What one process of a pipeline does: its parts of the network, and the order of its passes and messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mindspore import Parameter, nn

from mf_config import RunConfig
from mf_parallel.axes import AxisCommunicators
from mf_parallel.collectives import Communicator
from mf_parallel.pipeline.schedule import Shape, schedule
from mf_parallel.pipeline.timeline import Action, timeline
from mf_parallel.regions import JoinSequence
from mf_parallel.stages import Part
from mf_train.layout.division import Division
from mf_train.layout.plans import micro_batches

_AXIS = "pp"


@dataclass(frozen=True, slots=True)
class StagePart:
    """One part of the network on this process.

    Attributes:
        part: which.
        network: the cell.
        parameters: those that the part uses, by name.
    """

    part: Part
    network: nn.Cell
    parameters: Mapping[str, Parameter]


@dataclass(frozen=True, slots=True)
class StageWork:
    """What this process does in a step.

    Attributes:
        shape: how large the pipeline is.
        actions: what it does, in order; see `mf_parallel.pipeline.timeline`.
        neighbours: stage to the group of two that this process forms with it.
        leave: the border cell behind a part, which makes hidden states whole.
        hidden_size: width of hidden states.
        ring: the stages before and behind this one, the last one before the first.
    """

    shape: Shape
    actions: Sequence[Action]
    neighbours: Mapping[int, Communicator]
    leave: nn.Cell
    hidden_size: int
    ring: tuple[int, int]


def stage_work(config: RunConfig, division: Division, axes: AxisCommunicators) -> StageWork | None:
    """What this process does in a step.

    Args:
        config: the run configuration.
        division: how the network is divided.
        axes: this process's place on the mesh.
    Returns:
        The work; None where there is one stage.
    Raises:
        UserError: the micro batches don't fit the stages.
    """
    stages, stage = axes.degree(_AXIS), axes.position(_AXIS)
    if stages == 1:
        return None
    shape = Shape(stages, len(division.parts), micro_batches(config, axes.mesh))
    actions = timeline(shape, schedule(shape, config.parallel.pipeline_config.pipeline_scheduler))[stage]
    ranks = axes.mesh.group(axes.rank, (_AXIS,))
    # All processes form their groups in the same order, for the members of each one wait for each other.
    pairs = {tuple(sorted((stage, action.peer))): action.peer for action in actions if action.peer >= 0}
    return StageWork(
        shape=shape,
        actions=actions,
        neighbours={pairs[pair]: axes.among((ranks[pair[0]], ranks[pair[1]])) for pair in sorted(pairs)},
        leave=JoinSequence(axes.along("tp")) if division.plan.divided_tokens else nn.Identity(),
        hidden_size=config.model.model_config.hidden_size,
        ring=((stage - 1) % stages, (stage + 1) % stages),
    )

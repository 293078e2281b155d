"""The part of a run that one process holds, for callbacks that look at weights, gradients and optimizer state."""

from collections.abc import Mapping
from dataclasses import dataclass

from mindspore import Parameter

from mf_train.step.own_figures import OwnFigures


@dataclass(frozen=True, slots=True)
class OwnPart:
    """What a process holds of a run; pieces where weights or state are divided.

    Attributes:
        rank: number of the process.
        rows: rows of a step, of all processes together, over the number of processes.
        weights: the model's parameters by name, in the network's order.
        slots: name of each slot of the optimizer to its tensors, by the names of the parameters.
        figures: this process's numbers of the last step; None where nobody asked for them, or where MindSpore divides
            the work and no process knows its own.
    """

    rank: int
    rows: float
    weights: Mapping[str, Parameter]
    slots: Mapping[str, Mapping[str, Parameter]]
    figures: OwnFigures | None

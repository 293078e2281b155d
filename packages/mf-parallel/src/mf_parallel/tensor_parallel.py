"""Makes the layers of a whole network work on pieces of their weights, from outside.

A layer of mf keeps the operation that applies its parameter as an attribute: `linear` for a matrix, `gather` for a
table. Border cells go around these operations, or around the layer that holds several of them; what the network's
own files say stays as it is.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mindspore import nn

from mf_parallel.axes import AxisCommunicators
from mf_parallel.plan import ParallelPlan, ParameterPlan
from mf_parallel.regions import (
    DivideSequence,
    Enter,
    EnterSequence,
    JoinSequence,
    Leave,
    LeaveSequence,
    OperationRegion,
    Region,
)
from mf_parallel.rules import Role
from mf_parallel.stages import Part
from mf_parallel.vocabulary import VocabularyLookup

AXIS = "tp"


def divide_layers(model: nn.Cell, plan: ParallelPlan, axes: AxisCommunicators, part: Part) -> None:
    """Put border cells around the layers whose parameters the `tp` ranks divide; nothing where there is one rank.

    Args:
        model: a network whose parameters are named by the path of their cells; its own `linear` applies a tied head.
        plan: the layout of all its parameters.
        axes: this rank's communicators.
        part: which part of the network the model is. Hidden states that come in are whole on every rank.
    """
    if axes.degree(AXIS) == 1:
        return
    borders = _Borders(axes, plan.divided_tokens)
    cells = dict(model.cells_and_names())
    held = {name: plan.parameters[name] for name in plan.parameters if name.rpartition(".")[0] in cells}
    for path in _holders_of_columns(held):
        parent, _, name = path.rpartition(".")
        cells[parent].insert_child_to_cell(name, Region(borders.enter(), cells[path]))
    for name, parameter in held.items():
        cell = cells[name.rpartition(".")[0]]
        if parameter.role is Role.ROW and AXIS in parameter.axes:
            cell.linear = OperationRegion(cell.linear, after=borders.leave())
        elif parameter.role is Role.VOCABULARY and hasattr(cell, "gather"):
            _divide_lookup(cell, parameter, borders, part.is_first)
            if name == plan.tied and part.is_last:
                _divide_head(model, parameter, borders)
        elif parameter.role is Role.VOCABULARY and part.is_last:
            _divide_head(cell, parameter, borders)


class _Borders:
    """The border cells of one rank."""

    def __init__(self, axes: AxisCommunicators, divided_tokens: bool):
        self.ranks = axes.along(AXIS)
        self.divided_tokens = divided_tokens

    def enter(self) -> nn.Cell:
        return EnterSequence(self.ranks) if self.divided_tokens else Enter(self.ranks)

    def leave(self) -> nn.Cell:
        return LeaveSequence(self.ranks) if self.divided_tokens else Leave(self.ranks)


def _divide_lookup(cell: Any, parameter: ParameterPlan, borders: _Borders, is_used: bool) -> None:
    """A table: its rows are divided, or its result, which is whole, may be divided by tokens.

    The latter also where the table is not used, and hidden states pass in its place.
    """
    if AXIS in parameter.axes and is_used:
        rows = parameter.layout.padded_shape[0] // borders.ranks.size
        cell.gather = OperationRegion(VocabularyLookup(borders.ranks, rows), after=borders.leave())
    elif borders.divided_tokens:
        cell.gather = OperationRegion(cell.gather, after=DivideSequence(borders.ranks))


def _divide_head(cell: Any, parameter: ParameterPlan, borders: _Borders) -> None:
    """The output head: its rows are divided, or every rank computes all logits of all tokens."""
    if AXIS in parameter.axes:
        cell.linear = OperationRegion(cell.linear, before=borders.enter())
    elif borders.divided_tokens:
        cell.linear = OperationRegion(cell.linear, before=JoinSequence(borders.ranks))


def _holders_of_columns(held: Mapping[str, ParameterPlan]) -> Iterable[str]:
    """Paths of the cells whose layers divide their outputs: what comes in is used by all of these, and enters once."""
    columns = [name for name, parameter in held.items() if parameter.role is Role.COLUMN]
    return dict.fromkeys(name.rsplit(".", 2)[0] for name in columns)

"""Rules that place the tensors of a model on any mesh, and the layout of a checkpoint that comes from them."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from mf_ckpt.keymap.optimizer_state import owner
from mf_ckpt.placement.layout import PIPELINE, Layout
from mf_ckpt.sources.source import Source
from mf_config.layout import Fused, Mesh, Placement, Shard, TensorLayout
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

LAYER = "{layer}"
"""The placeholder for the number of a layer: it decides about the pipeline stage."""

_PLACEHOLDER = re.compile(r"\\\{\w+\\\}")
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """How tensors of one name pattern are placed.

    Attributes:
        pattern: a tensor's name, with `{layer}` (any word in braces) for a whole number.
        divisions: how it is divided; not at all where empty.
        stage: `first` or `last` pipeline stage; empty for every stage, or for that of its layer where it has one.
        pad_to: its first dimension is padded to a multiple of so many elements.
    """

    pattern: str
    divisions: tuple[Placement, ...] = ()
    stage: str = ""
    pad_to: int = 1

    def matches(self, name: str) -> bool:
        """Whether the pattern describes the whole name."""
        return _regex(self.pattern).fullmatch(name) is not None


def place(
    weights: Source,
    state: Source,
    mesh: Mesh,
    rules: Iterable[PlacementRule],
    *,
    ties: Mapping[str, str] | None = None,
    shard_optimizer: bool = False,
) -> Layout:
    """The layout of a checkpoint on a mesh.

    Args:
        weights: the weights.
        state: the optimizer's state; a tensor of its weight's shape is placed as the weight, others are whole.
        mesh: the mesh. Layers go to its pipeline stages in blocks, the first ones a layer longer where that is uneven.
        rules: the first one that describes a name counts.
        ties: weights that may be left out, each with the one that it equals; those that are there are no ties.
        shard_optimizer: divide state tensors further among data-parallel ranks (ZeRO), unevenly where need be.

    Returns:
        The layout.

    Raises:
        UserError: tensors that no rule describes, all of them named.
    """
    found = _match(weights, rules)
    tensors = {name: _layout(weights.info(name).shape, rule) for name, rule in found.items()}
    optimizer = {}
    stages = _stages(found, mesh)
    for name in state:
        shape, owned = state.info(name).shape, owner(name, tensors)
        same = owned is not None and tensors[owned[1]].shape == shape
        layout = tensors[owned[1]] if owned is not None and same else TensorLayout(shape)
        optimizer[name] = _sharded(layout) if shard_optimizer else layout
        if owned is not None and owned[1] in stages:
            stages[name] = stages[owned[1]]
    absent = {name: original for name, original in (ties or {}).items() if name not in tensors and original in tensors}
    return Layout(mesh, tensors, optimizer, stages, absent)


def check_even(layout: Layout) -> None:
    """Make sure that all ranks get the same of every weight.

    Raises:
        UserError: one line for every way in which tensors can't be divided equally.
    """
    names_of: dict[str, list[str]] = {}
    for name, placed in layout.tensors.items():
        for fault in _uneven(placed, layout.mesh):
            names_of.setdefault(fault, []).append(name)
    if names_of:
        lines = [f"{names[0]}{_and_more(len(names) - 1)}: {fault}" for fault, names in names_of.items()]
        raise UserError("\n".join(lines[:_MOST_SHOWN]))


def rules_of(layout: Layout) -> list[PlacementRule]:
    """Rules that place the same tensors on another mesh as a layout places them on its own."""
    rules = []
    for name, placed in layout.tensors.items():
        pad_to = placed.padded_shape[0] if placed.padded_shape != placed.shape else 1
        rules.append(PlacementRule(name, placed.divisions, _end(layout, name), pad_to))
    return rules


def layer_of(name: str) -> int | None:
    """The number of the layer that a tensor's name tells: its first word that is a number; None where none is."""
    return next((int(word) for word in name.split(".") if word.isdecimal()), None)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(_PLACEHOLDER.sub(r"\\d+", re.escape(pattern)))


def _match(names: Iterable[str], rules: Iterable[PlacementRule]) -> dict[str, PlacementRule]:
    rules = list(rules)
    exact = {rule.pattern: rule for rule in reversed(rules) if "{" not in rule.pattern}
    patterns = [rule for rule in rules if "{" in rule.pattern]
    found, unknown = {}, []
    for name in names:
        rule = exact.get(name) or next((rule for rule in patterns if rule.matches(name)), None)
        if rule is None:
            unknown.append(name)
        else:
            found[name] = rule
    if unknown:
        guess = nearest(re.sub(r"\b\d+\b", LAYER, unknown[0]), [rule.pattern for rule in rules])
        hint = f" Did you mean {guess}?" if guess else ""
        shown = ", ".join(map(repr, unknown[:_MOST_SHOWN]))
        raise UserError(f"{len(unknown)} tensors match no placement rule: {shown}. Allowed: a rule for each.{hint}")
    return found


def _layout(shape: tuple[int, ...], rule: PlacementRule) -> TensorLayout:
    padded = (math.ceil(shape[0] / rule.pad_to) * rule.pad_to, *shape[1:]) if shape else ()
    return TensorLayout(shape, rule.divisions, padded)


def _sharded(layout: TensorLayout) -> TensorLayout:
    """The layout with its first dimension divided among data-parallel ranks too."""
    if not layout.shape or any(division.axis == "dp" for division in layout.divisions):
        return layout
    return TensorLayout(layout.shape, (*layout.divisions, Shard(0, "dp")), layout.padded_shape)


def _stages(rules: Mapping[str, PlacementRule], mesh: Mesh) -> dict[str, int]:
    count = mesh.degree(PIPELINE) if PIPELINE in mesh.axes else 1
    if count == 1:
        return {}
    ends = {"first": 0, "last": count - 1}
    layers = {name: layer_of(name) for name in rules}
    depth = max((layer for layer in layers.values() if layer is not None), default=-1) + 1
    share, longer = divmod(depth, count)
    stage_of = [stage for stage in range(count) for _ in range(share + (stage < longer))]
    stages = {}
    for name, rule in rules.items():
        layer = layers[name]
        if rule.stage:
            stages[name] = ends[rule.stage]
        elif layer is not None:
            stages[name] = stage_of[layer]
    return stages


def _end(layout: Layout, name: str) -> str:
    """`first` or `last` where an earlier layout says so of a tensor that is in no layer."""
    count = layout.mesh.degree(PIPELINE) if PIPELINE in layout.mesh.axes else 1
    stage = layout.stages.get(name)
    if stage is None or layer_of(name) is not None or stage not in (0, count - 1):
        return ""
    return "first" if stage == 0 else "last"


def _uneven(placed: TensorLayout, mesh: Mesh) -> Iterator[str]:
    left = list(placed.padded_shape)
    for division in placed.divisions:
        count = mesh.degree(division.axis)
        parts = division.parts if isinstance(division, Fused) else (left[division.dim],)
        if count > 1 and any(part % (division.unit * count) for part in parts):
            units = [part // division.unit for part in parts]
            what = " + ".join(map(str, units)) + (
                f" units (heads) of {division.unit}" if division.unit > 1 else " elements"
            )
            common = math.gcd(*units)
            allowed = name_values(degree for degree in range(1, common + 1) if common % degree == 0)
            yield (
                f"{count} ranks of {division.axis} can't share dim {division.dim} equally: it has {what}. "
                f"Allowed: {division.axis} {allowed}."
            )
        left[division.dim] //= count


def _and_more(count: int) -> str:
    return f" and {count} more" if count else ""

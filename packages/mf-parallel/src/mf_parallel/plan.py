"""The parallel plan: for every parameter its layout on the mesh, its stages, and the role of its layer; no device."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mf_config.layout import Mesh, Shard, TensorLayout
from mf_config.problems import UserError
from mf_parallel.divisibility import uneven_divisions
from mf_parallel.names import collapse, first_number
from mf_parallel.plan_table import Row, render
from mf_parallel.rules import Role, Rule, RuleTable
from mf_parallel.stages import Part, StageSplit

LAYOUT_FORMAT = 1
"""Version of what `to_json` writes."""

TOKEN_AXES = ("dp", "ep", "cp")
"""Axes along which ranks read different tokens: their gradients and losses are added up."""

WEIGHT_AXES = ("pp", "zero", "ep", "tp")
"""Axes along which ranks may hold different pieces: of weights, or of gradients where `zero` divides them."""

_IN_RESIDUAL_STREAM = (Role.REPLICATED, Role.ROW)
"""Roles of parameters that may be whole on every `tp` rank and see whole features: norms, and biases after a sum."""


@dataclass(frozen=True, slots=True)
class ParameterPlan:
    """What the plan says of one parameter.

    Attributes:
        layout: which slices each rank holds.
        role: what the parameter's layer does at its boundary.
        stages: the pipeline stages that hold it; two for a tied embedding.
    """

    layout: TensorLayout
    role: Role
    stages: tuple[int, ...] = (0,)

    @property
    def axes(self) -> frozenset[str]:
        """The mesh axes that divide it."""
        return frozenset(division.axis for division in self.layout.divisions)


@dataclass(frozen=True, slots=True)
class ParallelPlan:
    """The layout of a whole model.

    Attributes:
        mesh: the mesh of all ranks.
        parameters: name to layout, role and stages, in the model's order.
        split: the blocks of each pipeline stage.
        divided_tokens: whether norms and residuals are divided by tokens among the `tp` ranks (sequence parallel).
        tied: the embedding that is the output head too; None where the head has a weight of its own.
    """

    mesh: Mesh
    parameters: Mapping[str, ParameterPlan]
    split: StageSplit = field(default_factory=StageSplit)
    divided_tokens: bool = False
    tied: str | None = None

    def stage(self, rank: int) -> int:
        """The pipeline stage of a rank."""
        return self.mesh.coordinates(rank).get("pp", 0)

    def held(self, rank: int) -> list[str]:
        """The names of the parameters that a rank holds a piece of."""
        stage = self.stage(rank)
        return [name for name, parameter in self.parameters.items() if stage in parameter.stages]

    def held_by(self, part: Part) -> list[str]:
        """The names of the parameters that a part of the network uses, where there are several parts."""
        blocks = {name: first_number(name) for name in self.parameters}
        in_blocks = [position for position, block in enumerate(blocks.values()) if block is not None]
        found = []
        for position, (name, block) in enumerate(blocks.items()):
            if block is not None:
                used = block in part.blocks
            elif position > in_blocks[-1]:
                used = part.is_last
            else:
                used = part.is_first or (part.is_last and name == self.tied)
            if used:
                found.append(name)
        return found

    def parameter(self, name: str, shape: tuple[int, ...]) -> "ParameterPlan":
        """The plan of one parameter; one that is not of the network is whole on every rank."""
        whole = ParameterPlan(TensorLayout(tuple(shape)), Role.REPLICATED, tuple(range(self.split.stages)))
        return self.parameters.get(name, whole)

    def adders(self, parameter: ParameterPlan, rank: int) -> tuple[int, ...]:
        """The ranks over which the gradient of a parameter is added up.

        Args:
            parameter: what the plan says of it.
            rank: a rank that holds a piece of it.

        Returns:
            The ranks that hold the same piece and see different tokens or heads, or use it in different stages.
        """
        partial = parameter.role is Role.PER_HEAD or (self.divided_tokens and parameter.role in _IN_RESIDUAL_STREAM)
        axes = ["pp", "zero", *TOKEN_AXES, *(["tp"] if partial else [])]
        summed = [axis for axis in axes if axis in self.mesh.axes and axis not in parameter.axes]
        return tuple(one for one in self.mesh.group(rank, summed) if self.stage(one) in parameter.stages)

    def copies(self, parameter: ParameterPlan) -> int:
        """How many ranks along `WEIGHT_AXES` hold the same piece of a parameter.

        Its gradient counts so many times where squares are added up over these axes.
        """
        inside = [axis for axis in WEIGHT_AXES if axis != "pp" and axis in self.mesh.axes]
        others = [axis for axis in inside if axis not in parameter.axes]
        return math.prod(map(self.mesh.degree, others)) * len(parameter.stages)

    def bytes_per_rank(self, name: str, bytes_per_element: int = 4) -> int:
        """Size of a parameter's local piece.

        Args:
            name: parameter name.
            bytes_per_element: 4 for float32, 2 for float16 and bfloat16.

        Returns:
            Bytes on each rank that holds it; all pieces of a plan are equally large.
        """
        return math.prod(self.parameters[name].layout.local_shape(self.mesh, 0)) * bytes_per_element

    def table(self, bytes_per_element: int = 4) -> str:
        """The plan as aligned text, one line for parameters that differ in their layer number only.

        Args:
            bytes_per_element: 4 for float32, 2 for float16 and bfloat16.

        Returns:
            Lines of parameter, shape, placement, role, stages, local shape and KiB on a rank, then the total of the
            rank that holds most.
        """
        sizes = {name: self.bytes_per_rank(name, bytes_per_element) for name in self.parameters}
        rows = [
            Row(text, *self._describe(kind), sum(sizes[name] for name in members))
            for kind, names in self._alike().items()
            for text, members in collapse(names)
        ]
        stages = range(self.split.stages)
        totals = [sum(sizes[name] for name in sizes if stage in self.parameters[name].stages) for stage in stages]
        title = f"mesh: {self.mesh} ({self.mesh.size} ranks)" + ("; tokens divided over tp" * self.divided_tokens)
        return render(title, rows, max(totals))

    def to_json(self, stored_name: Callable[[str], str] = str) -> dict[str, object]:
        """The mesh and every parameter's layout as plain data: the `layout.json` of a checkpoint.

        Args:
            stored_name: parameter name to its name in the checkpoint; the same by default.

        Returns:
            `format`, `mesh`, and `tensors` from stored name to layout.
        """
        tensors = {stored_name(name): parameter.layout.to_json() for name, parameter in self.parameters.items()}
        return {"format": LAYOUT_FORMAT, "mesh": self.mesh.to_json(), "tensors": tensors}

    def _alike(self) -> dict[ParameterPlan, list[str]]:
        groups: dict[ParameterPlan, list[str]] = {}
        for name, parameter in self.parameters.items():
            groups.setdefault(parameter, []).append(name)
        return groups

    def _describe(self, parameter: ParameterPlan) -> tuple[str, str, str, str, str]:
        layout = parameter.layout
        used = [str(division) for division in layout.divisions if self.mesh.degree(division.axis) > 1]
        local_shape = list(layout.local_shape(self.mesh, 0))
        stages = "+".join(map(str, parameter.stages))
        return str(list(layout.shape)), ", ".join(used) or "replicated", parameter.role.value, stages, str(local_shape)


def make_plan(
    mesh: Mesh,
    shapes: Mapping[str, tuple[int, ...]],
    rules: RuleTable,
    *,
    split: StageSplit | None = None,
    divided_tokens: bool = False,
    whole_vocabulary: bool = False,
) -> ParallelPlan:
    """Lay out all parameters of a model.

    Args:
        mesh: the mesh of all ranks.
        shapes: parameter name to its whole shape, in the model's order.
        rules: the family's rules.
        split: the blocks of each pipeline stage; None where `pp` is 1.
        divided_tokens: divide norms and residuals by tokens among the `tp` ranks.
        whole_vocabulary: keep embedding and head whole on every rank.

    Returns:
        The plan; all ranks hold equally large pieces of what they hold.

    Raises:
        UserError: one line for every group of parameters that no rule or several describe, or that cannot be divided
            equally, or the split has another number of stages than the mesh.
    """
    split = split or StageSplit()
    degree = mesh.degree("pp") if "pp" in mesh.axes else 1
    if split.stages != degree:
        raise UserError(f"mesh ({mesh}): blocks are divided among {split.stages} stages. Allowed: pp {split.stages}.")
    matched = rules.match_all(shapes)
    tied = _tied(matched)
    stages = split.holders(shapes, tied)
    parameters = {
        name: ParameterPlan(
            _layout(mesh, tuple(shape), matched[name], whole_vocabulary), matched[name].role, stages[name]
        )
        for name, shape in shapes.items()
    }
    problems: dict[str, list[str]] = {}
    for name, parameter in parameters.items():
        for problem in uneven_divisions(mesh, parameter.layout):
            problems.setdefault(problem, []).append(name)
    if problems:
        lines = [f"{text}: {problem}" for problem, names in problems.items() for text, _ in collapse(names)]
        raise UserError("\n".join(lines))
    return ParallelPlan(mesh, parameters, split, divided_tokens, tied)


def _tied(matched: Mapping[str, Rule]) -> str | None:
    """The embedding that is the head too: the first table, where no parameter behind the blocks is one."""
    tables = [name for name, rule in matched.items() if rule.role is Role.VOCABULARY]
    return tables[0] if tables and list(matched)[-1] not in tables else None


def _layout(mesh: Mesh, shape: tuple[int, ...], rule: Rule, whole_vocabulary: bool) -> TensorLayout:
    """The layout of one parameter; a divided vocabulary is padded so that all ranks get the same."""
    if rule.role is not Role.VOCABULARY:
        return TensorLayout(shape, rule.placements)
    if whole_vocabulary:
        return TensorLayout(shape)
    ranks = math.prod(mesh.degree(placed.axis) for placed in rule.placements if isinstance(placed, Shard))
    return TensorLayout(shape, rule.placements, (math.ceil(shape[0] / ranks) * ranks, *shape[1:]))

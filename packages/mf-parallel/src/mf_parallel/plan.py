"""The parallel plan: for every parameter its layout on the mesh, and the role of its layer. Needs no device."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mf_config.layout import Fused, Mesh, Shard, TensorLayout
from mf_config.problems import UserError, name_values
from mf_parallel.names import collapse
from mf_parallel.rules import Role, RuleTable

LAYOUT_FORMAT = 1
"""Version of what `to_json` writes."""


@dataclass(frozen=True, slots=True)
class ParameterPlan:
    """What the plan says of one parameter.

    Attributes:
        layout: which slices each rank holds.
        role: what the parameter's layer does at its boundary.
    """

    layout: TensorLayout
    role: Role


@dataclass(frozen=True, slots=True)
class ParallelPlan:
    """The layout of a whole model.

    Attributes:
        mesh: the mesh of all ranks.
        parameters: name to layout and role, in the model's order.
    """

    mesh: Mesh
    parameters: Mapping[str, ParameterPlan]

    def bytes_per_rank(self, name: str, bytes_per_element: int = 4) -> int:
        """Size of a parameter's local piece.

        Args:
            name: parameter name.
            bytes_per_element: 4 for float32, 2 for float16 and bfloat16.

        Returns:
            Bytes on each rank; all pieces of a plan are equally large.
        """
        return math.prod(self.parameters[name].layout.local_shape(self.mesh, 0)) * bytes_per_element

    def table(self, bytes_per_element: int = 4) -> str:
        """The plan as aligned text, one line for parameters that differ in their layer number only.

        Args:
            bytes_per_element: 4 for float32, 2 for float16 and bfloat16.

        Returns:
            Lines of parameter, shape, placement, role, local shape and KiB on a rank, then their total.
        """
        heads = ("parameter", "shape", "placement", "role", "local shape", "KiB per rank")
        rows = [heads]
        for kind, names in self._alike().items():
            for text, members in collapse(names):
                size = sum(self.bytes_per_rank(name, bytes_per_element) for name in members)
                rows.append((text, *self._describe(kind), _kibibytes(size)))
        total = sum(self.bytes_per_rank(name, bytes_per_element) for name in self.parameters)
        rows.append(("total", "", "", "", "", _kibibytes(total)))
        return "\n".join([f"mesh: {self.mesh} ({self.mesh.size} ranks)", *_align(rows)])

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

    def _describe(self, parameter: ParameterPlan) -> tuple[str, str, str, str]:
        layout = parameter.layout
        used = [str(division) for division in layout.divisions if self.mesh.degree(division.axis) > 1]
        local_shape = layout.local_shape(self.mesh, 0)
        return str(list(layout.shape)), ", ".join(used) or "replicated", parameter.role.value, str(list(local_shape))


def make_plan(mesh: Mesh, shapes: Mapping[str, tuple[int, ...]], rules: RuleTable) -> ParallelPlan:
    """Lay out all parameters of a model.

    Args:
        mesh: the mesh of all ranks. Pipeline stages are not planned: `pp` is 1.
        shapes: parameter name to its whole shape, in the model's order.
        rules: the family's rules.

    Returns:
        The plan; all ranks hold equally large pieces.

    Raises:
        UserError: one line for every group of parameters that no rule or several describe, or that cannot be divided
            equally, or the mesh has pipeline stages.
    """
    if "pp" in mesh.axes and mesh.degree("pp") > 1:
        raise UserError(f"mesh ({mesh}): parameters are not divided among pipeline stages. Allowed: pp 1.")
    matched = rules.match_all(shapes)
    parameters = {
        name: ParameterPlan(TensorLayout(tuple(shape), matched[name].placements), matched[name].role)
        for name, shape in shapes.items()
    }
    problems: dict[str, list[str]] = {}
    for name, parameter in parameters.items():
        for problem in _uneven_divisions(mesh, parameter.layout):
            problems.setdefault(problem, []).append(name)
    if problems:
        lines = [f"{text}: {problem}" for problem, names in problems.items() for text, _ in collapse(names)]
        raise UserError("\n".join(lines))
    return ParallelPlan(mesh, parameters)


def _uneven_divisions(mesh: Mesh, layout: TensorLayout) -> list[str]:
    """A message for each placement that would not give every rank the same."""
    left = list(layout.padded_shape)
    found = []
    for division in layout.divisions:
        count = mesh.degree(division.axis)
        parts = division.parts if isinstance(division, Fused) else (left[division.dim],)
        if any(part % (division.unit * count) for part in parts):
            found.append(_explain(division, parts, count))
        left[division.dim] //= count
    return found


def _explain(division: Shard | Fused, parts: Sequence[int], count: int) -> str:
    whole_units = [part // division.unit for part in parts]
    what = " + ".join(map(str, parts)) + " elements"
    if division.unit > 1:
        what = f"{' + '.join(map(str, whole_units))} units (heads) of {division.unit} elements"
    common = math.gcd(*whole_units)
    allowed = name_values(degree for degree in range(1, common + 1) if common % degree == 0)
    return (
        f"{count} {division.axis} ranks cannot share dim {division.dim} equally: {what}. "
        f"Allowed: {division.axis} {allowed}."
    )


def _align(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Columns padded to their widest cell; the last one, a number, to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        yield "  ".join([*cells, row[-1].rjust(widths[-1])])


def _kibibytes(size: int) -> str:
    return f"{size / 1024:,.1f}"

"""Whether a checkpoint fits what it is loaded into: its tensors the model's, its layout the run's."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from mf_ckpt.placement.layout import Layout
from mf_ckpt.reading.reader import Reader
from mf_ckpt.sources.sliced import SlicedSource
from mf_ckpt.sources.source import Source
from mf_config.layout import Mesh
from mf_config.problems import UserError

_SHOWN_OF_A_KIND = 4
"""A model of another size differs in hundreds of tensors; the first of each kind tell."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How the tensors of a checkpoint compare with those of a model.

    Attributes:
        missing: weights of the model that the checkpoint lacks.
        unexpected: tensors of the checkpoint that no weight of the model takes.
        mismatched: weight to its shape in the checkpoint and in the model, where these differ.
        unequal: tensors that should equal the one that they are tied to, and don't.
        mistyped: weight to its stored type, where that holds no weights.
    """

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
    unequal: Mapping[str, str]
    mistyped: Mapping[str, str]

    def check(self, where: str) -> None:
        """Make sure that all fits.

        Args:
            where: the checkpoint's name in the message.

        Raises:
            UserError: something doesn't; one message of at most 21 lines with the first tensors of each kind.
        """
        kinds = {
            "missing": self.missing,
            "of another shape": [_shapes(name, *shapes) for name, shapes in self.mismatched.items()],
            "of another type": [f"{name}, stored as {dtype}" for name, dtype in self.mistyped.items()],
            "unexpected": self.unexpected,
            "unequal": [f"{name}, tied to {original}" for name, original in self.unequal.items()],
        }
        found = {kind: lines for kind, lines in kinds.items() if lines}
        if found:
            summary = ", ".join(f"{len(lines)} {kind}" for kind, lines in found.items())
            shown = [f"  {kind}: {line}" for kind, lines in found.items() for line in lines[:_SHOWN_OF_A_KIND]]
            hidden = sum(map(len, found.values())) - len(shown)
            more = f"; {hidden} more are not shown" if hidden else ""
            raise UserError("\n".join([f"{where}: tensors don't fit the model: {summary}{more}.", *shown]))


def compare(
    source: Source,
    expected: Mapping[str, tuple[int, ...]],
    *,
    ties: Mapping[str, str] | None = None,
    ignored: Sequence[str] = (),
    refused: Collection[str] = (),
) -> Fit:
    """Compare the tensors of a checkpoint with what a model needs; only tied copies are read.

    Args:
        source: the weights of a checkpoint.
        expected: the model's weights, under the checkpoint's names, to their shapes.
        ties: tensors that the checkpoint may have beside the ones that they equal.
        ignored: shell patterns of tensors that hold no weight.
        refused: stored types that the model can't take its weights from.

    Returns:
        All differences.
    """
    ties = ties or {}
    left = [name for name in source if name not in expected and not any(fnmatchcase(name, p) for p in ignored)]
    copies = {name: ties[name] for name in left if name in ties and ties[name] in source}
    shapes = {name: (source.info(name).shape, shape) for name, shape in expected.items() if name in source}
    return Fit(
        missing=tuple(name for name in expected if name not in source),
        unexpected=tuple(name for name in left if name not in copies),
        mismatched={name: pair for name, pair in shapes.items() if pair[0] != pair[1]},
        unequal={name: one for name, one in copies.items() if not np.array_equal(source.raw(name), source.raw(one))},
        mistyped={name: dtype for name in shapes if (dtype := source.info(name).dtype) in refused},
    )


def check_layout(reader: Reader, wanted: Layout, *, auto_trans: bool) -> None:
    """Make sure that a run can load a checkpoint as it is cut.

    Of MindSpore's folders of ranks, whose tensors have other names than the run's, the number of ranks is compared.

    Args:
        reader: the checkpoint.
        wanted: how the run cuts its weights.
        auto_trans: whether the run cuts anew while it loads; then every checkpoint does.

    Raises:
        UserError: the checkpoint is cut in another way; the message says how they differ and which command helps.
    """
    if auto_trans or not isinstance(reader.weights, SlicedSource):
        return
    held = reader.layout
    if held is None:
        _check_ranks(reader.path, reader.weights.mesh.size, wanted.mesh)
        return
    difference = next(_differences(held, wanted), None)
    if difference is None:
        return
    target = reader.path.with_name(f"{reader.path.name}-{mesh_option(wanted.mesh).replace('=', '').replace(',', '-')}")
    raise UserError(
        f"{reader.path}: is cut for {held.mesh}, and the run for {wanted.mesh}; {difference}. "
        f"Allowed: auto_trans_ckpt: True, or first:\n"
        f"mf-ckpt reshard {reader.path} {target} --mesh {mesh_option(wanted.mesh)}"
    )


def _check_ranks(path: Path, held: int, wanted: Mesh) -> None:
    if held != wanted.size:
        raise UserError(
            f"{path}: is cut for {held} ranks, and the run has {wanted.size}. "
            "Allowed: auto_trans_ckpt: True, or first:\n"
            f"mf-ckpt convert {path} {path.with_name(f'{path.name}-mf')} --to mf"
        )


def mesh_option(mesh: Mesh) -> str:
    """A mesh as the command line takes it, `tp=4,pp=2`: the axes that divide anything."""
    used = [f"{axis}={degree}" for axis, degree in zip(mesh.axes, mesh.degrees, strict=True) if degree > 1]
    return ",".join(used) or "tp=1"


def _differences(held: Layout, wanted: Layout) -> Iterator[str]:
    for name in wanted.tensors:
        if name in held.tensors and _pieces(held, name) != _pieces(wanted, name):
            yield f"{name} is {_cut(held, name)} there and {_cut(wanted, name)} here"


def _pieces(layout: Layout, name: str) -> tuple[str, list[tuple[int, ...]]]:
    """What is equal where the pieces of a tensor are: how it is cut, and the shapes, which units and padding change."""
    placed = layout.tensors[name]
    return _cut(layout, name), [placed.local_shape(layout.mesh, rank) for rank in layout.storing_ranks(name)]


def _cut(layout: Layout, name: str) -> str:
    """How a tensor is cut on its mesh, in words."""
    placed = layout.tensors[name]
    cuts = [
        f"{division} among {layout.mesh.degree(division.axis)}"
        for division in placed.divisions
        if layout.mesh.degree(division.axis) > 1
    ]
    padded = f" padded to {list(placed.padded_shape)}" if placed.padded_shape != placed.shape else ""
    stage = f" on stage {layout.stages[name]}" if name in layout.stages else ""
    return (", ".join(cuts) or "whole") + padded + stage


def _shapes(name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> str:
    return f"{name}, {list(found)}. Allowed: {list(expected)}."

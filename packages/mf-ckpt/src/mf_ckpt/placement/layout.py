"""The layout document of a checkpoint, `layout.json`: the mesh, and how each tensor is placed on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from mf_ckpt.disk.files import CheckpointError, JsonObject, member, read_json
from mf_ckpt.sources.sliced import storing_ranks
from mf_config.layout import Mesh, TensorLayout
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

LAYOUT = "layout.json"

PIPELINE = "pp"
"""The mesh axis along which ranks hold different tensors in place of parts of the same."""

_FORMAT = 1
_MOST_RANKS = 1_000_000
"""Ten times the largest clusters; a damaged document must not fill the memory."""
_KEYS = ("format", "mesh", "tensors", "optimizer", "stages", "ties")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the tensors of a checkpoint lie on a mesh.

    Attributes:
        mesh: all ranks.
        tensors: weight to its shape, divisions, joined parts and padding.
        optimizer: the same for the tensors of the optimizer's state.
        stages: name to the pipeline stage that alone holds it; a name left out is on every stage.
        ties: name of a weight that is not stored to the one that it equals.
    """

    mesh: Mesh
    tensors: Mapping[str, TensorLayout]
    optimizer: Mapping[str, TensorLayout] = field(default_factory=dict)
    stages: Mapping[str, int] = field(default_factory=dict)
    ties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that all parts fit together.

        Raises:
            UserError: a division along an axis that the mesh lacks, a stage that doesn't exist, or a tie to nothing.
        """
        if self.mesh.size > _MOST_RANKS:
            raise UserError(f"mesh ({self.mesh}): {self.mesh.size} ranks. Allowed: at most {_MOST_RANKS}.")
        for name, layout in {**self.tensors, **self.optimizer}.items():
            for division in layout.divisions:
                if division.axis not in self.mesh.axes:
                    raise UserError(f"tensor {name!r}: {division}. Allowed axes: {name_values(self.mesh.axes)}.")
        count = self.mesh.degree(PIPELINE) if PIPELINE in self.mesh.axes else 1
        for name, stage in self.stages.items():
            if not 0 <= stage < count:
                raise UserError(f"tensor {name!r}: on stage {stage}. Allowed: stages 0 to {count - 1}.")
        for name, original in self.ties.items():
            if original not in self.tensors:
                raise UserError(f"tensor {name!r}: tied to {original!r}. Allowed: a tensor of the checkpoint.")

    @classmethod
    def whole(cls, shapes: Mapping[str, tuple[int, ...]]) -> Self:
        """The layout of tensors that are not cut, on one process."""
        return cls(Mesh.of(), {name: TensorLayout(shape) for name, shape in shapes.items()})

    def storing_ranks(self, name: str) -> tuple[int, ...]:
        """The ranks that store a piece of a tensor: of those that hold the same piece, the first one.

        Args:
            name: a weight or a tensor of the optimizer's state.

        Returns:
            One rank for each different piece, ascending.
        """
        layout = self.tensors[name] if name in self.tensors else self.optimizer[name]
        confined = (PIPELINE, self.stages[name]) if name in self.stages and PIPELINE in self.mesh.axes else None
        return storing_ranks(layout, self.mesh, confined)

    def to_json(self) -> JsonObject:
        """The document as plain data; parts that are empty are left out."""
        data: JsonObject = {
            "format": _FORMAT,
            "mesh": self.mesh.to_json(),
            "tensors": {name: layout.to_json() for name, layout in self.tensors.items()},
        }
        if self.optimizer:
            data["optimizer"] = {name: layout.to_json() for name, layout in self.optimizer.items()}
        if self.stages:
            data["stages"] = dict(self.stages)
        if self.ties:
            data["ties"] = dict(self.ties)
        return data

    @classmethod
    def from_json(cls, data: JsonObject) -> Self:
        """The layout that `to_json` described.

        Raises:
            UserError: the data doesn't describe a layout, or has an entry that this version doesn't know.
        """
        unknown = [key for key in data if key not in _KEYS]
        if unknown:
            guess = nearest(unknown[0], _KEYS)
            hint = f" Did you mean {guess}?" if guess else ""
            raise UserError(f"unknown entry {unknown[0]!r}. Allowed: {name_values(_KEYS)}.{hint}")
        if data.get("format") != _FORMAT:
            raise UserError(f"format is {data.get('format')!r}. Allowed: {_FORMAT}; is mf-ckpt too old?")
        if "mesh" not in data or "tensors" not in data:
            raise UserError("needs a mesh and tensors")
        stages, ties = _table(data, "stages"), _table(data, "ties")
        if not all(type(stage) is int for stage in stages.values()):
            raise UserError("stages must map names to whole numbers")
        if not all(isinstance(original, str) for original in ties.values()):
            raise UserError("ties must map names to names")
        return cls(Mesh.from_json(data["mesh"]), _layouts(data, "tensors"), _layouts(data, "optimizer"), stages, ties)


def read_layout(folder: Path) -> Layout | None:
    """The layout document of a checkpoint folder, None where it has none.

    Raises:
        CheckpointError: it is damaged.
    """
    path = member(folder, LAYOUT)
    if not path.exists():
        return None
    try:
        return Layout.from_json(read_json(path))
    except CheckpointError:
        raise
    except UserError as error:
        raise CheckpointError(path, str(error)) from None


def _table(data: JsonObject, key: str) -> JsonObject:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise UserError(f"{key} must be an object")
    return table


def _layouts(data: JsonObject, key: str) -> dict[str, TensorLayout]:
    found = {}
    for name, entry in _table(data, key).items():
        try:
            found[name] = TensorLayout.from_json(entry)
        except UserError as error:
            raise UserError(f"{key}: tensor {name!r}: {error}") from None
    return found

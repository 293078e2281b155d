"""Weights between cells and checkpoints, under Hugging Face names."""

from collections.abc import Iterator, Mapping

import numpy as np
from mindspore import Tensor, nn

import mf_ckpt
from mf_ckpt import MappedSource, Source, TensorInfo
from mf_ckpt.keymap.rows import apply
from mf_ckpt.sources.declared import DeclaredSource
from mf_ckpt.sources.renamed import RenamedSource
from mf_config.layout import Mesh
from mf_models.checkpoint_family import placement_rules
from mf_models.model_config import ModelConfig
from mf_models.networks import parameters
from mf_models.registry import family_of

_NO_WEIGHT_TYPES = ("F64", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL", "F8_E4M3", "F8_E5M2")
"""F64 would be rounded, integers and 8-bit floats mean a quantised weight; the types of GGUF expand by themselves."""


def to_checkpoint_names(config: ModelConfig, cell: nn.Cell) -> Iterator[tuple[str, np.ndarray]]:
    """The weights of a cell as they are stored.

    Args:
        config: the cell's configuration.
        cell: result of `build` or `load`.

    Yields:
        Hugging Face name and array, one tensor at a time; a tied head is left out.
    """
    yield from to_stored_form(config, parameters(cell))


def to_stored_form(config: ModelConfig, tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, np.ndarray]]:
    """Tensors of the shapes of a cell's parameters, weights or a slot of the optimizer, as they are stored.

    Args:
        config: the cell's configuration.
        tensors: each parameter's name to its tensor.

    Yields:
        Hugging Face name and array, one stored tensor at a time.
    """
    for step in family_of(config).key_map(config).steps(tensors):
        yield from zip(step.targets, apply(step.row, [tensors[name].asnumpy() for name in step.sources]), strict=True)


def in_cell_form(config: ModelConfig, cell: nn.Cell, stored: Source) -> Source:
    """What `to_stored_form` wrote, under the names and in the shapes of a cell's parameters; read when asked for.

    Args:
        config: the cell's configuration.
        cell: the cell.
        stored: at least the tensors that the parameters make, under Hugging Face names.
    """
    names = stored_shapes(config, cell)
    return MappedSource(RenamedSource.subset(stored, names), family_of(config).key_map(config).inverse)


def assign(config: ModelConfig, cell: nn.Cell, tensors: Source, where: str) -> None:
    """Copy stored weights into a cell, all or none.

    Args:
        config: the cell's configuration.
        cell: result of `build`.
        tensors: the weights of an open checkpoint, under Hugging Face names; one is read at a time.
        where: the checkpoint's name in messages.

    Raises:
        UserError: tensors are missing, left over, of the wrong shape or type; all of them are found at once.
    """
    family = family_of(config)
    shapes = stored_shapes(config, cell)
    ties = family.tied if config.tie_word_embeddings else {}
    fit = mf_ckpt.compare(tensors, shapes, ties=ties, ignored=family.ignored_tensors, refused=_NO_WEIGHT_TYPES)
    fit.check(where)
    cells = in_cell_form(config, cell, tensors)
    for name, parameter in parameters(cell).items():
        parameter.set_data(Tensor(np.ascontiguousarray(cells[name], dtype=np.float32)))


def stored_layout(config: ModelConfig, cell: nn.Cell, mesh: Mesh) -> mf_ckpt.Layout:
    """Which rank of a mesh holds what of the stored tensors of a model.

    Args:
        config: the cell's configuration.
        cell: result of `build`.
        mesh: the mesh.
    """
    infos = {name: TensorInfo("F32", shape) for name, shape in stored_shapes(config, cell).items()}
    nothing = DeclaredSource({}, "no state")
    return mf_ckpt.place(DeclaredSource(infos, "model"), nothing, mesh, placement_rules(config))


def stored_shapes(config: ModelConfig, cell: nn.Cell) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's tensors in a checkpoint, under Hugging Face names."""
    shapes = {name: tuple(parameter.shape) for name, parameter in parameters(cell).items()}
    stored: dict[str, tuple[int, ...]] = {}
    for step in family_of(config).key_map(config).steps(shapes):
        infos = step.row.infos([TensorInfo("F32", shapes[name]) for name in step.sources])
        stored.update(zip(step.targets, (info.shape for info in infos), strict=True))
    return stored

"""Weights between cells and checkpoints, under Hugging Face names."""

from collections.abc import Iterator

import numpy as np
from mindspore import Tensor, nn

import mf_ckpt
from mf_ckpt import KeyMap, MappedSource, Source, TensorInfo
from mf_ckpt.keymap.rows import apply
from mf_ckpt.sources.renamed import RenamedSource
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
    weights = parameters(cell)
    for step in family_of(config).key_map(config).steps(weights):
        yield from zip(step.targets, apply(step.row, [weights[name].asnumpy() for name in step.sources]), strict=True)


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
    key_map = family.key_map(config)
    weights = parameters(cell)
    shapes = _stored_shapes(key_map, {name: tuple(parameter.shape) for name, parameter in weights.items()})
    ties = family.tied if config.tie_word_embeddings else {}
    fit = mf_ckpt.compare(tensors, shapes, ties=ties, ignored=family.ignored_tensors, refused=_NO_WEIGHT_TYPES)
    fit.check(where)
    cells = MappedSource(RenamedSource.subset(tensors, shapes), key_map.inverse)
    for name, parameter in weights.items():
        parameter.set_data(Tensor(np.ascontiguousarray(cells[name], dtype=np.float32)))


def _stored_shapes(key_map: KeyMap, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's tensors in a checkpoint, from those of its parameters."""
    stored: dict[str, tuple[int, ...]] = {}
    for step in key_map.steps(shapes):
        infos = step.row.infos([TensorInfo("F32", shapes[name]) for name in step.sources])
        stored.update(zip(step.targets, (info.shape for info in infos), strict=True))
    return stored

"""Weights between cells and checkpoints, under Hugging Face names."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

import numpy as np
from mindspore import Parameter, Tensor, nn

from mf_ckpt import Source
from mf_config.problems import UserError
from mf_models.model_config import ModelConfig
from mf_models.networks import parameters
from mf_models.registry import family_of

_MOST_SHOWN = 12
"""A model of another size differs in hundreds of tensors; the first ones tell."""

_FLOAT_TYPES = ("F32", "F16", "BF16")
"""Stored types that are widened to float32; F64 would be rounded, and integers mean a quantised weight."""


def to_checkpoint_names(config: ModelConfig, cell: nn.Cell) -> Iterator[tuple[str, np.ndarray]]:
    """The weights of a cell as they are stored.

    Args:
        config: the cell's configuration.
        cell: result of `build` or `load`.

    Yields:
        Hugging Face name and array, one weight at a time; a tied head is left out.
    """
    key_map = family_of(config).key_map(config)
    for name, parameter in parameters(cell).items():
        yield key_map.forward(name), parameter.asnumpy()


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
    key_map = family_of(config).key_map(config)
    wanted = {key_map.forward(name): parameter for name, parameter in parameters(cell).items()}
    faults = [*_misfits(wanted, tensors), *_left_over(config, wanted, tensors)]
    if faults:
        lines = [f"{where}: {fault}" for fault in faults[:_MOST_SHOWN]]
        shown = f"; the first {_MOST_SHOWN} are shown" if len(faults) > _MOST_SHOWN else ""
        raise UserError("\n".join([*lines, f"{len(faults)} tensors don't fit {type(config).__name__}{shown}."]))
    for name, parameter in wanted.items():
        parameter.set_data(Tensor(np.ascontiguousarray(tensors[name], dtype=np.float32)))


def _misfits(wanted: Mapping[str, Parameter], tensors: Source) -> Iterator[str]:
    """Weights of the cell that the checkpoint lacks or holds in another form."""
    for name, parameter in wanted.items():
        if name not in tensors:
            yield f"{name}: is missing."
            continue
        info = tensors.info(name)
        if info.shape != tuple(parameter.shape):
            yield f"{name}: has shape {list(info.shape)}. Allowed: {list(parameter.shape)}."
        elif info.dtype not in _FLOAT_TYPES:
            yield f"{name}: is stored as {info.dtype}. Allowed: {', '.join(_FLOAT_TYPES)}."


def _left_over(config: ModelConfig, wanted: Mapping[str, Parameter], tensors: Source) -> Iterator[str]:
    """Tensors that no weight takes, but for old buffers and equal copies of a tied weight."""
    family = family_of(config)
    tied = family.tied if config.tie_word_embeddings else {}
    for name in tensors:
        if name in wanted or any(fnmatchcase(name, pattern) for pattern in family.ignored_tensors):
            continue
        original = tied.get(name)
        if original is None or original not in tensors:
            yield f"{name}: the model has no such weight."
        elif not np.array_equal(tensors[name], tensors[original]):
            yield f"{name}: differs from {original}. Allowed: none, or an equal one, with tie_word_embeddings."

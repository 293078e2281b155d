"""Weights between cells and checkpoints, under Hugging Face names."""

from collections.abc import Iterator

import numpy as np
from mindspore import Tensor, nn

import mf_ckpt
from mf_ckpt import Source
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
    family = family_of(config)
    key_map = family.key_map(config)
    wanted = {key_map.forward(name): parameter for name, parameter in parameters(cell).items()}
    shapes = {name: tuple(parameter.shape) for name, parameter in wanted.items()}
    ties = family.tied if config.tie_word_embeddings else {}
    fit = mf_ckpt.compare(tensors, shapes, ties=ties, ignored=family.ignored_tensors, refused=_NO_WEIGHT_TYPES)
    fit.check(where)
    for name, parameter in wanted.items():
        parameter.set_data(Tensor(np.ascontiguousarray(tensors[name], dtype=np.float32)))

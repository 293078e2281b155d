"""Fills a model with its weights, some of them as 8-bit integers, so that all of the floats are never in memory."""

import math
from collections.abc import Callable, Collection, Iterator

import numpy as np
from mindspore import nn
from numpy.typing import NDArray

from mf_ckpt import Source
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.int8_linear import BLOCK, Int8Linear, IntegerBlocks, round_to_nearest
from mf_models.layers.linear import Linear
from mf_models.networks import parameters
from mf_models.weights import put

NO_PRODUCT = ("lkv2kv",)
"""The matrix of latent attention that is not always used as a product."""

HEAD = "lm_head"

LEFT_AS_IT_IS = (HEAD, *NO_PRODUCT)
"""What MindFormers leaves too: the head decides between close tokens."""

_FLOATS_AT_ONCE = 2**18
"""Of a matrix: with what is made of them on the way to integers, they take some 5 MB."""

Integers = Callable[[str, str], IntegerBlocks | None]
"""From the path of a layer and the name of its parameter to the parameter's integers; None where it stays as it is."""


def no_integers(_layer: str, _parameter: str) -> None:
    """All stays as it is."""


def rounded(cells: Source, keep: Collection[str]) -> Integers:
    """Every matrix rounded to integers, but some.

    Args:
        cells: the weights, under the names of the model's parameters.
        keep: names of layers, or parts of their paths, that stay as they are.
    """

    def integers(layer: str, parameter: str) -> IntegerBlocks | None:
        return None if set(keep) & {layer, *layer.split(".")} else _rounded(cells, parameter)

    return integers


def fill(model: CausalLanguageModel, cells: Source, integers: Integers = no_integers) -> None:
    """Give a model its weights, an `Int8Linear` in the place of each `Linear` that has integers.

    A head that is the embedding's matrix gets integers of its own, beside the table of floats.

    Args:
        model: result of `mf_models.networks.build`.
        cells: the weights, under the names of the model's parameters.
        integers: which matrices are integers.
    """
    linears = _linears(model)
    in_linears = {child.weight.name for _, _, _, child in linears}
    # The table of tokens first: the copy that it is made of is gone before the others need memory.
    for name, parameter in parameters(model).items():
        if name not in in_linears:
            put(parameter, _whole(cells, name))
    for path, parent, name, child in linears:
        weight = child.weight.name
        if (blocks := integers(path, weight)) is None:
            put(child.weight, _whole(cells, weight))
        else:
            setattr(parent, name, Int8Linear(blocks, child.bias))
    if model.lm_head is None:
        table = model.model.tok_embeddings.embedding_weight.name
        if (blocks := integers(HEAD, table)) is not None:
            model.lm_head = Int8Linear(blocks)


def _linears(model: nn.Cell) -> list[tuple[str, nn.Cell, str, Linear]]:
    """Every `Linear`: its path, the cell that has it, its name there, and itself."""
    return [
        (f"{path}.{name}".strip("."), parent, name, child)
        for path, parent in model.cells_and_names()
        for name, child in parent.name_cells().items()
        if type(child) is Linear
    ]


def _whole(cells: Source, name: str) -> NDArray[np.float32]:
    """A tensor as float32; of one in blocks of a GGUF file, few floats at a time are made twice."""
    values = np.empty(cells.info(name).shape, np.float32)
    for rows in _some_rows(values.shape):
        values[rows] = cells.read(name, (rows,))
    return values


def _rounded(cells: Source, name: str) -> IntegerBlocks:
    shape = cells.info(name).shape
    blocks = -(-shape[1] // BLOCK)
    integers, scales = np.empty((shape[0], blocks, BLOCK), np.int8), np.empty((shape[0], blocks), np.float16)
    for rows in _some_rows(shape):
        found = round_to_nearest(cells.read(name, (rows,)).astype(np.float32, copy=False))
        integers[rows], scales[rows] = found.integers_FGI, found.scale_FG
    return IntegerBlocks(integers_FGI=integers, scale_FG=scales, columns=shape[1])


def _some_rows(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices of the first dimension that have about `_FLOATS_AT_ONCE` numbers each."""
    step = max(1, _FLOATS_AT_ONCE // max(1, math.prod(shape[1:])))
    for begin in range(0, shape[0], step):
        yield slice(begin, min(begin + step, shape[0]))

"""Puts layers with weights of 8-bit integers in the place of those with floats."""

from collections.abc import Collection

from mindspore import nn

from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.int8_linear import Int8Linear, largest_integer
from mf_models.layers.linear import Linear

_NO_PRODUCT = ("lkv2kv",)
"""The matrix of latent attention that is not always used as a product."""

LEFT_AS_IT_IS = ("lm_head", *_NO_PRODUCT)
"""What MindFormers leaves too: the head decides between close tokens."""


def quantize(cell: nn.Cell, keep: Collection[str] = LEFT_AS_IT_IS) -> None:
    """Put an `Int8Linear` in the place of each `Linear` of a filled model.

    Args:
        cell: the model.
        keep: names of layers, or parts of their paths, that stay as they are.
    """
    for path, parent in list(cell.cells_and_names()):
        for name, child in list(parent.name_cells().items()):
            whole = f"{path}.{name}".strip(".")
            if type(child) is Linear and not set(keep) & {whole, *whole.split(".")}:
                setattr(parent, name, Int8Linear(child.weight.asnumpy(), child.bias))


def quantize_with_head(model: CausalLanguageModel) -> None:
    """As `quantize`, and the head too; one that is the embedding's matrix gets integers of its own."""
    quantize(model, _NO_PRODUCT)
    if model.lm_head is None:
        model.lm_head = Int8Linear(model.model.tok_embeddings.embedding_weight.asnumpy())


def keep_integers(cell: nn.Cell) -> None:
    """Put an `Int8Linear` in the place of each `Linear` whose weight is integers times scales: no value changes.

    Args:
        cell: a filled model, whose weights were read from blocks of GGUF.
    """
    for _, parent in list(cell.cells_and_names()):
        for name, child in list(parent.name_cells().items()):
            if type(child) is Linear and name not in _NO_PRODUCT:
                weight_FD = child.weight.asnumpy()
                if (largest := largest_integer(weight_FD)) is not None:
                    setattr(parent, name, Int8Linear(weight_FD, child.bias, largest))


def keep_integers_and_head(model: CausalLanguageModel) -> None:
    """As `keep_integers`, and a head that is the embedding's matrix."""
    keep_integers(model)
    table_VD = model.model.tok_embeddings.embedding_weight.asnumpy()
    if model.lm_head is None and (largest := largest_integer(table_VD)) is not None:
        model.lm_head = Int8Linear(table_VD, largest=largest)

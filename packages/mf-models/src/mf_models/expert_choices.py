"""How often each expert of a network is chosen: asked for, and told from what is added to the loss."""

import re

import mindspore as ms
from mindspore import Tensor, nn

from mf_models.layers.moe import RoutedExperts

_BLOCK = re.compile(r"layers\.\d+")


def count_choices(network: nn.Cell) -> None:
    """Have a network count in training, for each block with experts, how many choices fall on each of them.

    A graph that is compiled afterwards then has more among what is added to the loss of the tokens (see
    `mf_models.layers.causal_lm.CausalLanguageModel.hidden_and_losses`): a tensor [E] for which `is_count` holds, for
    each of `counted_blocks`.

    Args:
        network: the network, whose experts mf itself divides, if anybody.
    """
    for _, cell in network.cells_and_names():
        if isinstance(cell, RoutedExperts):
            cell.counts_choices = True


def counted_blocks(network: nn.Cell) -> tuple[str, ...]:
    """The blocks whose choices are counted, such as `layers.3`, in the order of the counts."""
    names = []
    for name, cell in network.cells_and_names():
        if isinstance(cell, RoutedExperts) and cell.counts_choices:
            found = _BLOCK.search(name)
            names.append(name if found is None else found[0])
    return tuple(names)


def is_count(added: Tensor) -> bool:
    """Whether a tensor among what is added to the loss is a count, and therefore not to be added; in graph code too."""
    found: bool = added.dtype == ms.int32
    return found

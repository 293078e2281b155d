"""The load of experts: the share of a step's choices that falls on each, where the run records it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    # Callbacks are declared without MindSpore, by which processes talk.
    from mf_train.layout.processes import Processes

Load = Mapping[str, Sequence[float]]
"""Name of each block with experts, such as `layers.3`, to the share of each expert, adding up to 1."""


def load_of(choices: Mapping[str, NDArray[np.int64]], processes: "Processes") -> Load:
    """The load of the experts over all processes; each of them must call it with the same blocks.

    Args:
        choices: name of each block to how often its experts were chosen by this process's tokens, [E]; empty where
            they are not counted.
        processes: the processes of the run.

    Returns:
        The same on every process, float32 exact.
    """
    if not choices:
        return {}
    counts = np.concatenate(list(choices.values())).astype(np.float32)
    summed = processes.sum_array(counts).astype(np.float64)
    ends = np.cumsum([len(one) for one in choices.values()])[:-1]
    return {name: (one / one.sum()).tolist() for name, one in zip(choices, np.split(summed, ends), strict=True)}


def in_even_shares(shares: Sequence[float]) -> list[float]:
    """Each share over the one that an expert would have if all were chosen equally often."""
    return [share * len(shares) for share in shares]

"""What a network gives beside the losses of its tokens, put together over the micro batches of a step."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
from mindspore import Tensor
from numpy.typing import NDArray

from mf_models.expert_choices import is_count

Added = Sequence[Sequence[Tensor]]
"""For each micro batch what the network adds to its mean loss, and what it counts, see `mf_models.expert_choices`."""


def mean_losses(added: Added) -> list[float]:
    """The mean over micro batches of each number that the network adds."""
    numbers = [[float(one) for tensor in part if not is_count(tensor) for one in tensor.asnumpy()] for part in added]
    return [fmean(column) for column in zip(*numbers, strict=True)]


def summed_counts(added: Added) -> list[NDArray[np.int64]]:
    """The sum over micro batches of each tensor of counts, of its shape."""
    counts = [[tensor.asnumpy().astype(np.int64) for tensor in part if is_count(tensor)] for part in added]
    return [np.sum(column, axis=0) for column in zip(*counts, strict=True)]

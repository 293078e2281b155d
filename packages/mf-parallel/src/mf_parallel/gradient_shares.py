"""Gradients that are divided among ranks before they are added up over micro batches.

Legend: N ranks, X elements of a message.

Source: Rajbhandari et al. 2020, ZeRO, section 5.2.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from mindspore import Tensor, mint, nn, ops

from mf_parallel.collectives import Communicator, ReduceScatter
from mf_parallel.tensor_tuples import each, picked


class GradientShares(nn.Cell):
    """From gradients to this rank's rows of their sums over the ranks, where they are divided."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], is_divided: Sequence[bool], communicator: Communicator):
        """Plan the message.

        Args:
            shapes: shape of each gradient; N divides the first dim of those that are divided.
            is_divided: for each whether its rows are divided; else it stays as it is.
            communicator: the ranks that divide them.
        """
        super().__init__()
        self._shapes, self._is_divided = shapes, is_divided
        self.divided = tuple(index for index, divided in enumerate(is_divided) if divided)
        sizes = [math.prod(shape) // communicator.size for shape in shapes]
        bounds = accumulate((size * on for size, on in zip(sizes, is_divided, strict=True)), initial=0)
        # Where nothing is divided a gradient starts where it ends.
        self.starts, self.stops = zip(*pairwise(bounds), strict=True)
        self.ranks = communicator.size
        self.scatter = ReduceScatter(communicator, 0)
        self._communicator = communicator

    def of(self, positions: tuple[int, ...]) -> "GradientShares":
        """The same for some of the gradients."""
        shapes = [self._shapes[position] for position in positions]
        return GradientShares(shapes, [self._is_divided[position] for position in positions], self._communicator)

    def construct(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Add up and divide.

        Args:
            gradients: one of each declared shape, float32.

        Returns:
            The same, those that are divided with this rank's rows of the sum.
        """
        if len(self.divided) == 0:
            return gradients
        columns = each(self.columns, picked(gradients, self.divided))
        own_X = self.scatter(mint.cat(columns, 1)).reshape((-1,))
        found: tuple[Tensor, ...] = each(ops.partial(self.own, own_X), gradients, self.starts, self.stops)
        return found

    def columns(self, gradient: Tensor) -> Tensor:
        """[N, -1]."""
        return gradient.reshape((self.ranks, -1))

    def own(self, own_X: Tensor, gradient: Tensor, start: int, stop: int) -> Tensor:
        """This rank's rows of a gradient, or the gradient where it is not divided."""
        if start == stop:
            return ops.depend(gradient, own_X)
        return own_X[start:stop].reshape((-1, *gradient.shape[1:]))

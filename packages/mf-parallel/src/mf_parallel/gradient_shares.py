"""Gradients that are divided among ranks before they are added up over micro batches.

Legend: N ranks, X elements of a message.

Source: Rajbhandari et al. 2020, ZeRO, section 5.2.
"""

import math
from collections.abc import Sequence

from mindspore import Tensor, mint, nn, ops

from mf_parallel.collectives import Communicator, ReduceScatter


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
        self.shapes = tuple(tuple(shape) for shape in shapes)
        self.is_divided = tuple(is_divided)
        self.sizes = tuple(math.prod(shape) // communicator.size for shape in shapes)
        self.ranks = communicator.size
        self.scatter = ReduceScatter(communicator, 0)
        self._communicator = communicator

    def of(self, positions: tuple[int, ...]) -> "GradientShares":
        """The same for some of the gradients."""
        shapes = [self.shapes[position] for position in positions]
        return GradientShares(shapes, [self.is_divided[position] for position in positions], self._communicator)

    def construct(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Add up and divide.

        Args:
            gradients: one of each declared shape, float32.

        Returns:
            The same, those that are divided with this rank's rows of the sum.
        """
        columns: tuple[Tensor, ...] = ()
        for index, gradient in enumerate(gradients):
            if self.is_divided[index]:
                columns = (*columns, gradient.reshape((self.ranks, -1)))
        if len(columns) == 0:
            return gradients
        own_X = self.scatter(mint.cat(columns, 1)).reshape((-1,))
        found: tuple[Tensor, ...] = ()
        start = 0
        for index, gradient in enumerate(gradients):
            if self.is_divided[index]:
                stop = start + self.sizes[index]
                found = (*found, own_X[start:stop].reshape((-1, *self.shapes[index][1:])))
                start = stop
            else:
                found = (*found, ops.depend(gradient, own_X))
        return found

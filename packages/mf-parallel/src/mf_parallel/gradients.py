"""The gradient of the mean over all tokens of all ranks, and its norm.

Ranks have different numbers of target tokens, so the mean of the ranks' means is not the mean over tokens. Each rank
hands in sums; sums are added and divided once.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate

from mindspore import Tensor, mint, nn, ops
from mindspore import dtype as mstype

from mf_parallel.buckets import plan_buckets
from mf_parallel.collectives import Communicator
from mf_parallel.tensor_tuples import each, flattened, picked

BUCKET_BYTES = 16 * 1024 * 1024
"""Long enough that the fixed cost of a message (3 ms between CPU processes) is lost in its transfer."""

_FLOAT32_BYTES = 4


class TokenSums(nn.Cell):
    """Loss, target tokens and gradients added up over the ranks that read different tokens."""

    def __init__(
        self,
        shapes: Sequence[tuple[int, ...]],
        communicator: Communicator,
        others: Sequence[Communicator] = (),
        bucket_bytes: int = BUCKET_BYTES,
    ):
        """Plan the messages.

        Args:
            shapes: shape of each gradient, in their order.
            communicator: the ranks over which loss and token count are added up; in a group of one nothing is sent.
            others: for each gradient the ranks over which it is added up; the same as the loss where empty.
            bucket_bytes: most bytes in a message of several gradients.
        """
        super().__init__()
        self.shapes = ((), (), *map(tuple, shapes))
        groups = (communicator, communicator, *(others or [communicator] * len(shapes)))
        self.messages = tuple(_messages(groups, [math.prod(shape) for shape in self.shapes], bucket_bytes))
        self.sums = nn.CellList([groups[positions[0]].sum_cell for positions, _, _ in self.messages])
        sent = [position for positions, _, _ in self.messages for position in positions]
        self.places = tuple(sent.index(position) for position in range(len(self.shapes)))
        self.alone = all(group.size == 1 for group in groups)

    def construct(
        self, loss_sum: Tensor, token_count: Tensor, gradients: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Add up over the ranks.

        Args:
            loss_sum: [], sum of this rank's token losses, float32.
            token_count: [], number of this rank's target tokens, float32 (exact up to 2 ** 24 in the sum).
            gradients: of `loss_sum`, each of its declared shape, float32 or float16.

        Returns:
            The three sums, float32; `per_token` times the gradients are those of the mean loss.
        """
        totals = self._sum_over_ranks((loss_sum, token_count, *gradients))
        return totals[0], totals[1], totals[2:]

    def _sum_over_ranks(self, values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Values of the declared shapes to their float32 sums of the same shapes."""
        widened: tuple[Tensor, ...] = each(_widened, values)
        if self.alone:
            return widened
        found: tuple[Tensor, ...] = ()
        last = values[0]
        for number, (positions, starts, stops) in enumerate(self.messages):
            parts = picked(widened, positions)
            # Nothing else orders the messages, and ranks that send them in different orders would wait forever.
            last = self.sums[number](ops.depend(mint.cat(each(flattened, parts)), last))
            found = found + each(ops.partial(_cut, last), parts, starts, stops)
        return picked(found, self.places)


class TokenMean(nn.Cell):
    """Loss and gradients per target token over the ranks that read different tokens."""

    def __init__(
        self,
        shapes: Sequence[tuple[int, ...]],
        communicator: Communicator,
        others: Sequence[Communicator] = (),
        bucket_bytes: int = BUCKET_BYTES,
    ):
        """Takes what `TokenSums` takes."""
        super().__init__()
        self.sums = TokenSums(shapes, communicator, others, bucket_bytes)

    def construct(
        self, loss_sum: Tensor, token_count: Tensor, gradients: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Add up over the ranks and divide by the number of target tokens.

        Args:
            loss_sum: as for `TokenSums.construct`.
            token_count: likewise.
            gradients: likewise.

        Returns:
            The mean loss [], the number of tokens of all ranks [], and the gradients of the mean loss; all float32.
            Where no rank has a target token, loss and gradients are 0, not NaN.
        """
        total, tokens, sums = self.sums(loss_sum, token_count, gradients)
        factor = per_token(tokens)
        return total * factor, tokens, each(ops.partial(_times, factor), sums)


def per_token(tokens: Tensor) -> Tensor:
    """What a sum over target tokens is multiplied with to be their mean; 1 where there are none.

    Args:
        tokens: [], their number.
    """
    return 1.0 / mint.clamp(tokens, min=1.0)


class PiecewiseNorm(nn.Cell):
    """Global norm of gradients of which each rank holds pieces."""

    def __init__(self, copies: Sequence[int], communicator: Communicator):
        """Takes how many ranks of the group hold each piece, and the ranks among which the weights are divided."""
        super().__init__()
        self.weights = tuple(1.0 / count for count in copies)
        self.sum = communicator.sum_cell
        self.square_sum = ops.ReduceSum()
        self.square = ops.Square()
        self.sqrt = ops.Sqrt()

    def construct(self, gradients: tuple[Tensor, ...]) -> Tensor:
        """Each element of the whole gradient counts once.

        Args:
            gradients: this rank's pieces, float32.

        Returns:
            Scalar, float32, the same on every rank.
        """
        total = self.square_sum(self.square(gradients[0])) * self.weights[0]
        for number in range(1, len(self.weights)):
            total = total + self.square_sum(self.square(gradients[number])) * self.weights[number]
        return self.sqrt(self.sum(total.reshape((1,))).reshape(()))


def _times(factor: Tensor, tensor: Tensor) -> Tensor:
    return tensor * factor


def _widened(tensor: Tensor) -> Tensor:
    return ops.cast(tensor, mstype.float32)


def _cut(message: Tensor, like: Tensor, start: int, stop: int) -> Tensor:
    """A tensor out of a message, shaped like what was put in."""
    return message[start:stop].reshape(like.shape)


_Numbers = tuple[int, ...]
Message = tuple[_Numbers, _Numbers, _Numbers]
"""Positions of its tensors in the list of all, and where each starts and ends in the message."""


def _messages(groups: Sequence[Communicator], sizes: Sequence[int], bucket_bytes: int) -> Iterator[Message]:
    """Neighbouring tensors that the same ranks add up share messages; loss and count are at the head of the first."""
    for ranks in dict.fromkeys(group.ranks for group in groups):
        members = [position for position, group in enumerate(groups) if group.ranks == ranks]
        for bucket in plan_buckets([sizes[position] for position in members], bucket_bytes // _FLOAT32_BYTES):
            inside = [members[index] for index in bucket]
            bounds = tuple(accumulate((sizes[position] for position in inside), initial=0))
            yield tuple(inside), bounds[:-1], bounds[1:]

"""The gradient of the mean over all tokens of all ranks, and its norm.

Ranks have different numbers of target tokens, so the mean of the ranks' means is not the mean over tokens. Each rank
hands in sums; sums are added and divided once.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from mindspore import Tensor, mint, nn, ops
from mindspore import dtype as mstype

from mf_parallel.buckets import plan_buckets
from mf_parallel.collectives import Communicator

BUCKET_BYTES = 16 * 1024 * 1024
"""Long enough that the fixed cost of a message (3 ms between CPU processes) is lost in its transfer."""

_FLOAT32_BYTES = 4


class TokenMean(nn.Cell):
    """Loss and gradients per target token over the ranks that read different tokens."""

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
        self.sums = nn.CellList([groups[message[0][0]].sum_cell for message in self.messages])
        self.alone = all(group.size == 1 for group in groups)

    def construct(
        self, loss_sum: Tensor, token_count: Tensor, gradients: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Add up over the ranks and divide by the number of target tokens.

        Args:
            loss_sum: [], sum of this rank's token losses, float32.
            token_count: [], number of this rank's target tokens, float32 (exact up to 2 ** 24 in the sum).
            gradients: of `loss_sum`, each of its declared shape, float32 or float16.

        Returns:
            The mean loss [], the number of tokens of all ranks [], and the gradients of the mean loss; all float32.
            Where no rank has a target token, loss and gradients are 0, not NaN.
        """
        totals = self._sum_over_ranks((loss_sum, token_count, *gradients))
        tokens = totals[1]
        per_token = 1.0 / mint.clamp(tokens, min=1.0)
        means: tuple[Tensor, ...] = ()
        for total in totals[2:]:
            means += (total * per_token,)
        return totals[0] * per_token, tokens, means

    def _sum_over_ranks(self, values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Values of the declared shapes to their float32 sums of the same shapes."""
        sums: tuple[Tensor, ...] = ()
        if self.alone:
            for value in values:
                sums += (ops.cast(value, mstype.float32),)
            return sums
        found = list(values)
        last = values[0]
        for number, message in enumerate(self.messages):
            flat: tuple[Tensor, ...] = ()
            for position, _, _ in message:
                flat += (ops.cast(values[position], mstype.float32).reshape(-1),)
            # Nothing else orders the messages, and ranks that send them in different orders would wait forever.
            last = self.sums[number](ops.depend(mint.cat(flat), last))
            for position, start, stop in message:
                found[position] = last[start:stop].reshape(self.shapes[position])
        return tuple(found)


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


Place = tuple[int, int, int]
"""A tensor's position in the list of all, and where it starts and ends in a message."""


def _messages(groups: Sequence[Communicator], sizes: Sequence[int], bucket_bytes: int) -> Iterator[tuple[Place, ...]]:
    """Neighbouring tensors that the same ranks add up share messages; loss and count are at the head of the first."""
    for ranks in dict.fromkeys(group.ranks for group in groups):
        members = [position for position, group in enumerate(groups) if group.ranks == ranks]
        for bucket in plan_buckets([sizes[position] for position in members], bucket_bytes // _FLOAT32_BYTES):
            inside = [members[index] for index in bucket]
            bounds = pairwise(accumulate((sizes[position] for position in inside), initial=0))
            yield tuple((position, *bound) for position, bound in zip(inside, bounds, strict=True))

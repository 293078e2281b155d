"""Data parallelism: the gradient of the mean over all tokens of all ranks.

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
    """Loss and gradients per target token over the ranks of a data-parallel group."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], communicator: Communicator, bucket_bytes: int = BUCKET_BYTES):
        """Plan the messages.

        Args:
            shapes: shape of each gradient, in their order.
            communicator: the data-parallel group; in a group of one nothing is sent.
            bucket_bytes: most bytes in a message of several gradients.
        """
        super().__init__()
        # Loss and token count travel as two more tensors at the head of the first bucket.
        self.shapes = ((), (), *map(tuple, shapes))
        sizes = [math.prod(shape) for shape in self.shapes]
        self.buckets = tuple(
            tuple(_places(bucket, sizes)) for bucket in plan_buckets(sizes, bucket_bytes // _FLOAT32_BYTES)
        )
        self.sum = communicator.sum_cell
        self.alone = communicator.size == 1

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
        last = values[0]
        for bucket in self.buckets:
            flat: tuple[Tensor, ...] = ()
            for position, _, _ in bucket:
                flat += (ops.cast(values[position], mstype.float32).reshape(-1),)
            # Nothing else orders the messages, and ranks that send them in different orders would wait forever.
            last = self.sum(ops.depend(mint.cat(flat), last))
            for position, start, stop in bucket:
                sums += (last[start:stop].reshape(self.shapes[position]),)
        return sums


def _places(bucket: Sequence[int], sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """For each tensor of a bucket its position in the list of all, and where it starts and ends in the bucket."""
    bounds = pairwise(accumulate((sizes[position] for position in bucket), initial=0))
    for position, (start, stop) in zip(bucket, bounds, strict=True):
        yield position, start, stop

"""Batches that are prepared before they are asked for, by threads or by processes."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mf_data.reading.batches import Batch, Batches
from mf_data.reading.worker_processes import ProcessWorkers


class Workers(Protocol):
    """Who makes batches meanwhile; they are waited for in the order in which they were begun."""

    def begin(self, step: int) -> Callable[[], Batch]:
        """Have the batch of a step made; what is returned waits for it, and raises what went wrong."""
        ...

    def close(self) -> None:
        """Stop, whatever is not made yet."""
        ...


class ThreadWorkers:
    """Threads: enough for rows that are only copied, out of memory or of mapped files."""

    def __init__(self, make: Callable[[int], Batch], count: int):
        """Takes what makes the batch of a step, and how many threads there are at most."""
        self._make = make
        self._pool = ThreadPoolExecutor(count, "rows")

    def begin(self, step: int) -> Callable[[], Batch]:
        """Have the batch of a step made; what is returned waits for it."""
        return self._pool.submit(self._make, step).result

    def close(self) -> None:
        """Stop, whatever is not made yet."""
        self._pool.shutdown(cancel_futures=True)


class ReadAhead:
    """The batches of one rank by step, of which the next ones are under way.

    What a batch holds depends on its step alone, so that neither the number of workers nor what was read ahead changes
    anything: any step may be asked for, only the one after the last is there sooner.

    Attributes:
        ahead: how many batches are under way at a time, from 1; it may be changed, up to what the workers are made for.
    """

    def __init__(self, workers: Workers, ahead: int, stop: int):
        """Takes the workers.

        Args:
            workers: who makes the batches.
            ahead: how many batches are under way at a time, from 1.
            stop: the first step that is not read ahead.
        """
        self._workers = workers
        self.ahead, self._stop = ahead, stop
        self._waiting: deque[tuple[int, Callable[[], Batch]]] = deque()
        self._last: tuple[int, Batch] | None = None

    def batch(self, step: int) -> Batch:
        """One batch.

        Args:
            step: from 0; that of the last call gives the same batch once more.
        Returns:
            The batch.
        Raises:
            UserError: a row is damaged.
            OSError: a worker process ended.
        """
        if self._last is not None and self._last[0] == step:
            return self._last[1]
        while self._waiting and self._waiting[0][0] != step:
            # Its place in the memory of a process is free only when it is there.
            self._waiting.popleft()[1]()
        if not self._waiting:
            self._waiting.append((step, self._workers.begin(step)))
        _, result = self._waiting.popleft()
        following = step + 1 + len(self._waiting)
        for further in range(following, min(step + 1 + self.ahead, self._stop)):
            self._waiting.append((further, self._workers.begin(further)))
        self._last = (step, result())
        return self._last[1]

    def close(self) -> None:
        """Stop the workers."""
        self._waiting.clear()
        self._workers.close()


def read_ahead(
    batches: Batches, stop: int, *, rank: int, ranks: int, workers: int, each: int, processes: bool
) -> ReadAhead:
    """The batches of one rank, made ahead.

    Args:
        batches: all batches.
        stop: the first step that is not read ahead.
        rank: this data-parallel rank, from 0.
        ranks: number of data-parallel ranks.
        workers: threads or processes that make batches, from 1.
        each: batches that each of them is ahead, from 1.
        processes: have processes make them; worth while where rows take long to make.
    """
    ahead = workers * each

    def make(step: int) -> Batch:
        return batches.batch(step, rank, ranks)

    def rows_of(step: int) -> NDArray[np.int64]:
        return batches.row_indices_of_rank(step, rank, ranks)

    if processes:
        return ReadAhead(ProcessWorkers(make, rows_of, count=workers, ahead=ahead), ahead, stop)
    return ReadAhead(ThreadWorkers(make, workers), ahead, stop)

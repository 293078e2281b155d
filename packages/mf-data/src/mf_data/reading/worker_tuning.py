"""How many workers a run needs so that it doesn't wait for its rows."""

import time
from collections.abc import Callable

from mf_data.reading.batches import Batch
from mf_data.reading.reading_ahead import ReadAhead

_WAITED = 0.01
"""Share of the time above which a run waits too long for its rows."""


class TunedReadAhead:
    """Batches as `ReadAhead` gives them, at first by one worker, then by twice as many while the run waits for them."""

    def __init__(
        self,
        reader: ReadAhead,
        *,
        each: int,
        interval: int,
        tell: Callable[[int, float], None],
        clock: Callable[[], float] = time.perf_counter,
    ):
        """Begins with one worker.

        Args:
            reader: what makes the batches, by as many workers as there may be at most.
            each: batches that each worker is ahead.
            interval: steps from one change to the next.
            tell: is told the number of workers and the share of the time that the run waited, after the first interval
                and after each that changes the number.
            clock: gives seconds.
        """
        self._reader = reader
        self._most, self._each = reader.ahead // each, each
        self._interval, self._tell, self._clock = interval, tell, clock
        self._calls, self._waited, self._begin = 0, 0.0, clock()
        self._is_told = False
        self._take(1)

    def batch(self, step: int) -> Batch:
        """One batch; see `ReadAhead.batch`."""
        before = self._clock()
        batch = self._reader.batch(step)
        now = self._clock()
        self._waited += now - before
        self._calls += 1
        if self._calls == self._interval:
            self._change(self._waited / max(now - self._begin, 1e-9))
            self._calls, self._waited, self._begin = 0, 0.0, now
        return batch

    def close(self) -> None:
        """Stop the workers."""
        self._reader.close()

    def _change(self, waited: float) -> None:
        """Take more workers where the run waits.

        Args:
            waited: share of the time.
        """
        before = self._workers
        if waited > _WAITED:
            self._take(min(2 * before, self._most))
        if self._workers != before or not self._is_told:
            self._tell(self._workers, waited)
            self._is_told = True

    def _take(self, workers: int) -> None:
        self._workers = workers
        self._reader.ahead = workers * self._each

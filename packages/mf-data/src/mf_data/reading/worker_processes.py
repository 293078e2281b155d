"""Processes that make batches and hand them over in shared memory.

They are forked, so that they share the data set with their parent, however large it is. A process that ends or does not
answer is reported with the rows that it was making; nobody waits for it for ever.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from mmap import mmap
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_data.reading.batches import Batch
from mf_data.rows.data_set import Columns

LONGEST_WAIT_S = 300.0
"""Reading a batch from the slowest disk takes seconds; a process that is silent for longer will never answer."""

_ENDING_S = 10.0
"""A process that has closed its pipe ends within milliseconds, on a busy machine a little later."""

_SHOWN_ROWS = 8
_OK, _USER_ERROR, _FAILURE = range(3)


@dataclass(slots=True)
class _Worker:
    """One process, our end of its pipe, and the parts of the shared memory that it fills in turn."""

    process: ForkProcess
    connection: Connection
    slots: Iterator[int]


class ProcessWorkers:
    """Processes, each with parts of a shared memory that hold one batch each."""

    def __init__(
        self,
        make: Callable[[int], Batch],
        rows_of: Callable[[int], NDArray[np.int64]],
        *,
        count: int,
        ahead: int,
    ):
        """Forks the processes.

        Args:
            make: makes the batch of a step; all batches have the same columns and shapes.
            rows_of: the numbers of the rows of a step, for messages.
            count: how many processes.
            ahead: batches that are under way at a time, over all processes.
        """
        self._make, self._rows_of = make, rows_of
        example = make(0).columns
        self._shapes = {name: (column.shape, column.dtype) for name, column in example.items()}
        self._slot_bytes = sum(column.nbytes for column in example.values())
        # Beside those that are under way, one batch may be waited for.
        slots = -(-(ahead + 1) // count)
        self._memory = mmap(-1, max(1, slots * count * self._slot_bytes))
        self._workers: list[_Worker] = []
        for number in range(count):
            self._workers.append(self._start(range(number * slots, (number + 1) * slots)))
        self._turns = cycle(self._workers)

    def begin(self, step: int) -> Callable[[], Batch]:
        """Have the batch of a step made; what is returned waits for it."""
        worker = next(self._turns)
        slot = next(worker.slots)
        # Where the process has ended, who waits for the batch at which it did is told.
        with suppress(OSError):
            worker.connection.send((step, slot))
        return lambda: self._take(worker, step, slot)

    def close(self) -> None:
        """Stop the processes."""
        for worker in self._workers:
            worker.connection.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
        self._workers.clear()

    def _start(self, slots: range) -> _Worker:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        others = [worker.connection for worker in self._workers]
        process = context.Process(target=self._work, args=(theirs, [ours, *others]), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours, cycle(slots))

    def _take(self, worker: _Worker, step: int, slot: int) -> Batch:
        """The batch of a step, copied out of the shared memory."""
        if not wait([worker.connection, worker.process.sentinel], LONGEST_WAIT_S):
            raise OSError(
                f"a process that makes batches has not answered for {LONGEST_WAIT_S:g} s; "
                f"it was making step {step} ({self._rows(step)})"
            )
        try:
            kind, content = worker.connection.recv()
        except (EOFError, OSError) as error:
            raise self._ended(worker, step) from error
        if kind == _USER_ERROR:
            raise UserError(content)
        if kind == _FAILURE:
            raise OSError(*content)
        return Batch({name: view.copy() for name, view in self._views(slot).items()}, content)

    def _ended(self, worker: _Worker, step: int) -> OSError:
        worker.process.join(_ENDING_S)
        code = worker.process.exitcode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
        return OSError(
            f"a process that makes batches ended {how}; it was making step {step} ({self._rows(step)}). "
            "What it printed says more; less memory is needed with a smaller num_parallel_workers."
        )

    def _rows(self, step: int) -> str:
        numbers = self._rows_of(step).tolist()
        more = f" and {len(numbers) - _SHOWN_ROWS} more" if len(numbers) > _SHOWN_ROWS else ""
        return f"rows {', '.join(map(str, numbers[:_SHOWN_ROWS]))}{more} of the data set"

    def _views(self, slot: int) -> Columns:
        """The columns of one part of the shared memory."""
        views: Columns = {}
        place = slot * self._slot_bytes
        for name, (shape, dtype) in self._shapes.items():
            count = int(np.prod(shape))
            views[name] = np.frombuffer(self._memory, dtype, count, place).reshape(shape)
            place += views[name].nbytes
        return views

    def _work(self, connection: Connection, others: list[Connection]) -> None:
        """What a process does, until its parent has gone."""
        # A key stroke that interrupts the program reaches all of its processes; the parent decides what follows.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for other in others:
            other.close()
        try:
            while True:
                step, slot = connection.recv()
                connection.send(self._answer(step, slot))
        except (EOFError, OSError):
            return

    def _answer(self, step: int, slot: int) -> tuple[int, Any]:
        """Make a batch; what is no user's mistake ends the process with a traceback, and the parent tells of that."""
        try:
            batch = self._make(step)
            for name, view in self._views(slot).items():
                view[...] = batch.columns[name]
        except UserError as error:
            return _USER_ERROR, str(error)
        except OSError as error:
            return _FAILURE, (error.errno, error.strerror, error.filename) if error.filename else error.args
        return _OK, batch.valid

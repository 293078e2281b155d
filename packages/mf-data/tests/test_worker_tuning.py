"""Workers that are taken while a run waits for its rows, on a clock of its own."""

from typing import Any

import pytest

from mf_data.reading.reading_ahead import ReadAhead
from mf_data.reading.worker_tuning import TunedReadAhead


class Clock:
    """Seconds that pass where the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowReader:
    """A batch takes eight seconds, divided by the batches that are under way at a time."""

    def __init__(self, clock: Clock, ahead: int) -> None:
        self.clock, self.ahead, self.steps = clock, ahead, list[int]()

    def batch(self, step: int) -> str:
        self.clock.now += max(0.0, 8.0 / self.ahead - 1.0)
        self.steps.append(step)
        return f"batch {step}"

    def close(self) -> None:
        self.steps.append(-1)


@pytest.mark.parametrize(("most", "workers"), [(8, [2, 4]), (3, [2, 3])])
def test_workers_are_doubled_while_the_run_waits(most: int, workers: list[int]) -> None:
    clock, told = Clock(), list[tuple[int, float]]()
    reader: Any = SlowReader(clock, 2 * most)
    tuned: Any = TunedReadAhead(reader, each=2, interval=3, tell=lambda *found: told.append(found), clock=clock)
    assert reader.ahead == 2
    for step in range(12):
        assert tuned.batch(step) == f"batch {step}"
        # What the run computes takes a second.
        clock.now += 1.0
    assert [number for number, _ in told] == workers
    # Of the first interval nine of eleven seconds: two steps end in it, and three waits of three seconds.
    assert told[0][1] == pytest.approx(9 / 11)
    assert reader.ahead == 2 * workers[-1]
    tuned.close()
    assert reader.steps == [*range(12), -1]


def test_a_run_that_never_waits_keeps_one_worker() -> None:
    clock, told = Clock(), list[tuple[int, float]]()
    reader: Any = SlowReader(clock, 16)
    tuned: Any = TunedReadAhead(reader, each=8, interval=1, tell=lambda *found: told.append(found), clock=clock)
    for step in range(3):
        tuned.batch(step)
        clock.now += 1.0
    assert told == [(1, 0.0)]


def test_a_reader_goes_on_with_fewer_batches_under_way() -> None:
    begun: list[int] = []

    class Workers:
        def begin(self, step: int) -> Any:
            begun.append(step)
            return lambda: step

        def close(self) -> None:
            pass

    reader: Any = ReadAhead(Workers(), 4, 100)
    reader.batch(0)
    assert begun == [0, 1, 2, 3, 4]
    reader.ahead = 1
    assert [reader.batch(step) for step in range(1, 5)] == [1, 2, 3, 4]
    assert begun == [0, 1, 2, 3, 4, 5]

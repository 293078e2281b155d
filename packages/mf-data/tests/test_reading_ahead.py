"""Batches that are made ahead are the same ones, whoever makes them; what ends a worker is told."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.reading.batches import Batches
from mf_data.reading.reading_ahead import ReadAhead, ThreadWorkers, read_ahead
from mf_data.rows.data_set import ColumnRows

STOP = 12


class Rows(ColumnRows):
    """Ten rows of three ids; a row may do something when it is read."""

    def __init__(self, disturb=lambda index: None):
        super().__init__({"input_ids": np.arange(30, dtype=np.int32).reshape(10, 3)}, {"input_ids": -1})
        self.disturb = disturb

    def __getitem__(self, indices):
        for index in indices.tolist():
            self.disturb(index)
        return super().__getitem__(indices)


def batches_of(rows=None) -> Batches:
    return Batches(rows or Rows(), global_batch_size=4, seed=3, shuffle=True, drop_remainder=False)


def reader_of(batches: Batches, processes: bool, workers: int = 2) -> ReadAhead:
    return read_ahead(batches, STOP, rank=1, ranks=2, workers=workers, each=2, processes=processes)


@pytest.fixture(scope="module", params=[False, True], ids=["threads", "processes"])
def reader(request) -> Iterator[ReadAhead]:
    with closing(reader_of(batches_of(), request.param)) as made:
        yield made


@pytest.mark.property
@given(steps=st.lists(st.integers(0, STOP + 3), max_size=8))
def test_any_step_gives_its_batch(reader, steps):
    for step in [*steps, *range(4)]:
        found, wanted = reader.batch(step), batches_of().batch(step, 1, 2)
        assert found.valid == wanted.valid
        np.testing.assert_array_equal(found.columns["input_ids"], wanted.columns["input_ids"])


def test_batches_are_made_before_they_are_asked_for():
    read = threading.Event()
    rows = Rows(lambda index: read.set() if index == 8 else None)
    batches = Batches(rows, global_batch_size=2, seed=0, shuffle=False)
    with closing(ReadAhead(ThreadWorkers(batches.batch, 1), ahead=4, stop=5)) as reader:
        reader.batch(0)  # Rows 0 and 1; row 8 belongs to step 4.
        assert read.wait(timeout=30)


def test_nothing_is_read_beyond_the_end():
    begun = []

    class Noting(ThreadWorkers):
        def begin(self, step):
            begun.append(step)
            return super().begin(step)

    with closing(ReadAhead(Noting(batches_of().batch, 1), ahead=3, stop=5)) as reader:
        for step in range(5):
            reader.batch(step)
            reader.batch(step)
    assert begun == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
def test_a_damaged_row_is_told(processes):
    def disturb(index: int) -> None:
        if index == 7:
            raise UserError("corpus.bin: sequence 7 is damaged")

    batches = Batches(Rows(disturb), global_batch_size=2, seed=0, shuffle=False)
    with closing(read_ahead(batches, STOP, rank=0, ranks=1, workers=2, each=1, processes=processes)) as reader:
        for step in range(3):
            reader.batch(step)
        with pytest.raises(UserError, match=r"corpus.bin: sequence 7 is damaged"):
            reader.batch(3)


def die(index: int) -> None:
    if index == 7:
        os.kill(os.getpid(), signal.SIGKILL)


def fail(index: int) -> None:
    if index == 7:
        raise ZeroDivisionError("by seven")


def sleep(index: int) -> None:
    if index == 7:
        time.sleep(600)


@pytest.mark.parametrize(
    ("disturb", "seconds", "message"),
    [
        (die, 60, r"ended by signal 9; it was making step 3 \(rows 6, 7 of the data set\)"),
        (fail, 60, r"ended with status 1; it was making step 3 \(rows 6, 7 of the data set\)"),
        (sleep, 2, r"has not answered for 2 s; it was making step 3 \(rows 6, 7 of the data set\)"),
    ],
)
def test_a_lost_process_is_an_error_that_names_the_rows(monkeypatch, disturb, seconds, message):
    monkeypatch.setattr("mf_data.reading.worker_processes.LONGEST_WAIT_S", seconds)
    batches = Batches(Rows(disturb), global_batch_size=2, seed=0, shuffle=False)
    reader = read_ahead(batches, STOP, rank=0, ranks=1, workers=2, each=1, processes=True)
    with closing(reader), pytest.raises(OSError, match=message):
        for step in range(STOP):
            reader.batch(step)


def test_a_process_that_died_between_batches_is_noticed():
    reader = reader_of(batches_of(), processes=True, workers=1)
    with closing(reader):
        reader.batch(0)
        (worker,) = reader._workers._workers
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.join()
        with pytest.raises(OSError, match=r"ended by signal 9; it was making step \d"):
            for step in range(1, STOP):
                reader.batch(step)


def test_no_process_is_left_behind():
    reader = reader_of(batches_of(), processes=True)
    reader.batch(0)
    processes = [worker.process for worker in reader._workers._workers]
    reader.close()
    assert not any(process.is_alive() for process in processes)


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
def test_what_the_system_refuses_is_told_in_its_words(processes):
    def disturb(index: int) -> None:
        if index == 7:
            raise OSError(5, "Input/output error", "corpus.bin")

    batches = Batches(Rows(disturb), global_batch_size=2, seed=0, shuffle=False)
    reader = read_ahead(batches, STOP, rank=0, ranks=1, workers=2, each=1, processes=processes)
    with closing(reader), pytest.raises(OSError, match=r"\[Errno 5\] Input/output error: 'corpus\.bin'"):
        for step in range(STOP):
            reader.batch(step)

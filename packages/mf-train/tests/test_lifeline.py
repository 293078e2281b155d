"""Machines learn of each other's end, and whether it was a good one."""

import socket
import time
from collections.abc import Callable

import pytest

from mf_parallel.launch import Machine, free_port
from mf_train.launch.lifeline import Lifeline

Lines = list[Lifeline]

LONG_ENOUGH_S, AT_MOST_S = 0.3, 10.0


@pytest.fixture
def lines() -> Lines:
    """Three machines that have met."""
    port = free_port()
    found = [Lifeline(Machine(rank, 1, "127.0.0.1", port)) for rank in range(3)]
    look(found, LONG_ENOUGH_S)
    return found


def look(lines: Lines, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
    deadline = time.monotonic() + seconds
    while not until() and time.monotonic() < deadline:
        for line in lines:
            line.look()
        time.sleep(0.01)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_the_failure_of_one_is_told_to_all(lines: Lines, failing: int):
    lines.pop(failing).end(well=False)
    while lines:
        look(lines, AT_MOST_S, lambda: any(line.is_broken for line in lines))
        (told, *_) = (line for line in lines if line.is_broken)
        # Its launcher ends its processes, and so tells the others.
        lines.remove(told)
        told.end(well=False)


def test_a_good_end_breaks_nothing(lines: Lines):
    for place in (1, 0):
        lines.pop(place).end(well=True)
        look(lines, LONG_ENOUGH_S)
        assert not any(line.is_broken for line in lines)


def test_strangers_at_the_port_are_not_missed():
    port = free_port()
    line = Lifeline(Machine(0, 1, "127.0.0.1", port))
    socket.create_connection(("127.0.0.1", port + 1)).close()
    look([line], LONG_ENOUGH_S)
    assert not line.is_broken
    line.end(well=True)


def test_machines_that_never_meet_go_on():
    line = Lifeline(Machine(1, 1, "127.0.0.1", free_port()))
    assert not line.look()
    line.end(well=True)

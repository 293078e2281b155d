"""The ladder of windows, by hand from its rules."""

import pytest

from mf_train.step.window_ladder import WindowLadder


@pytest.mark.parametrize(
    ("shortest", "longest", "rungs"),
    [
        (20, 1000, (20, 30, 40, 50, 100, 200, 500, 1000)),
        (20, 150, (20, 30, 40, 50, 100, 150)),
        (60, 250, (60, 100, 250)),
        (1, 4, (1, 2, 3, 4)),
        (7, 7, (7,)),
    ],
)
def test_rungs(shortest, longest, rungs):
    assert WindowLadder.of(1, shortest, longest).rungs == rungs


@pytest.mark.parametrize(("window", "first"), [(100, 100), (1000, 1000), (33, 20), (5000, 20)])
def test_a_window_that_is_no_rung_begins_at_the_lowest(window, first):
    assert WindowLadder.of(window, 20, 1000).window == first


def climbed(ladder: WindowLadder, growths: int) -> list[int]:
    windows = []
    for _ in range(growths):
        ladder.after_growth()
        windows.append(ladder.window)
    return windows


def test_each_third_growth_leads_one_rung_up_to_the_highest():
    assert climbed(WindowLadder.of(20, 20, 50), 12) == [20, 20, 30, 30, 30, 40, 40, 40, 50, 50, 50, 50]


def test_overflows_count_only_without_a_growth_between_them():
    ladder = WindowLadder.of(30, 20, 50)
    for _ in range(2):
        ladder.after_overflow()
    ladder.after_growth()
    for _ in range(2):
        ladder.after_overflow()
    assert ladder.window == 30
    ladder.after_overflow()
    assert ladder.window == 1
    assert climbed(ladder, 3) == [1, 1, 20]


def test_the_lowest_rung_is_not_left_downwards():
    ladder = WindowLadder.of(20, 20, 50)
    for _ in range(4):
        ladder.after_overflow()
    assert ladder.window == 20

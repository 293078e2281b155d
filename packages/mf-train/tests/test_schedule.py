"""Schedules against tables measured on MindFormers' classes and against independently computed ones."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_train.schedules.constant import ConstantWarmUpLR
from mf_train.schedules.cosine import CosineWithWarmUpLR
from mf_train.schedules.linear import LinearWithWarmUpLR

SCHEDULES = {cls.__name__: cls for cls in (ConstantWarmUpLR, CosineWithWarmUpLR, LinearWithWarmUpLR)}
UPDATES = (0, 1, 2, 3, 5, 8, 9, 10, 12)


@pytest.mark.golden
@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (ConstantWarmUpLR(learning_rate=1e-3, warmup_steps=2), (0, 5e-4, *[1e-3] * 7)),
        (
            LinearWithWarmUpLR(learning_rate=1e-3, warmup_steps=2, total_steps=10),
            (0, 5e-4, 1e-3, 8.75e-4, 6.25e-4, 2.5e-4, 1.25e-4, 0, 0),
        ),
        (
            CosineWithWarmUpLR(learning_rate=1e-3, warmup_steps=2, total_steps=10, lr_end=1e-4),
            (0, 5e-4, 1e-3, 9.65746e-4, 7.22208e-4, 2.31802e-4, 1.34254e-4, 1e-4, 1e-4),
        ),
        (
            CosineWithWarmUpLR(learning_rate=1e-3, warmup_steps=2, total_steps=10, lr_end=1e-4, warmup_lr_init=5e-4),
            (5e-4, 7.5e-4, 1e-3, 9.65746e-4, 7.22208e-4, 2.31802e-4, 1.34254e-4, 1e-4, 1e-4),
        ),
    ],
)
def test_rates_are_those_of_mindformers(schedule, rates):
    assert [schedule.rate(update, 999) for update in UPDATES] == pytest.approx(list(rates), rel=2e-6)


@pytest.mark.golden
@pytest.mark.parametrize("table", "ABCDE")
def test_warm_up_from_a_ratio(data: Path, table: str):
    case = json.loads((data / "c10-schedules.json").read_text())[table]
    names = ("learning_rate", "lr_end", "warmup_ratio", "warmup_steps", "warmup_lr_init", "total_steps")
    schedule = SCHEDULES[case["type"]](**{name: case[name] for name in names if name in case})
    assert schedule.warm_up_updates(case["total_steps"]) == case["warmup_steps_effective"]
    for update, rate in case["lr_by_step"].items():
        assert schedule.rate(int(update), case["total_steps"]) == pytest.approx(rate, rel=1e-6, abs=1e-18)


@pytest.mark.golden
def test_total_of_the_run_stands_for_minus_one(data: Path):
    case = json.loads((data / "c11-resume.json").read_text())
    schedule = CosineWithWarmUpLR(learning_rate=1e-4, lr_end=1e-6, warmup_ratio=0.1, total_steps=-1)
    assert [schedule.rate(update, 100) for update in range(100)] == pytest.approx(case["lr"], rel=1e-6)
    assert schedule.rate(40, 200) == pytest.approx(case["lr_8_epochs_at_40"], rel=1e-6)


def test_cycles_of_the_cosine():
    schedule = CosineWithWarmUpLR(learning_rate=1.0, total_steps=8, num_cycles=1.0)
    assert [schedule.rate(update, 8) for update in (0, 2, 4, 6)] == pytest.approx([1.0, 0.5, 0.0, 0.5], abs=1e-12)


@pytest.mark.property
@given(
    name=st.sampled_from(sorted(SCHEDULES)),
    warm_up=st.integers(0, 50),
    total=st.integers(1, 200),
    update=st.integers(0, 400),
)
def test_rates_stay_between_nothing_and_the_peak(name, warm_up, total, update):
    schedule = SCHEDULES[name](learning_rate=3e-4, warmup_steps=warm_up, total_steps=-1)
    rate = schedule.rate(update, total)
    assert math.isfinite(rate)
    assert 0.0 <= rate <= 3e-4
    if update >= warm_up:
        assert schedule.rate(update + 1, total) <= rate


def test_conflicting_keys_are_problems():
    schedule = LinearWithWarmUpLR(learning_rate=1e-3, warmup_steps=20, total_steps=10, warmup_lr_init=1e-2)
    assert [problem[0] for problem in schedule.problems()] == ["warmup_steps", "warmup_lr_init"]
    assert [problem[0] for problem in LinearWithWarmUpLR(learning_rate=1e-3, total_steps=0).problems()] == [
        "total_steps"
    ]
    assert not list(LinearWithWarmUpLR(learning_rate=1e-3, warmup_ratio=1.0, total_steps=10).problems())

"""Schedules against tables measured on MindFormers' classes and against independently computed ones."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_train.schedules.constant import ConstantWarmUpLR
from mf_train.schedules.cosine import CosineWithWarmUpLR
from mf_train.schedules.cosine_annealing import CosineAnnealingLR
from mf_train.schedules.cosine_annealing_warm_restarts import CosineAnnealingWarmRestarts
from mf_train.schedules.cosine_decay import CosineDecayLR
from mf_train.schedules.cosine_with_restarts import CosineWithRestartsAndWarmUpLR
from mf_train.schedules.exponential_decay import ExponentialDecayLR
from mf_train.schedules.inverse_decay import InverseDecayLR
from mf_train.schedules.linear import LinearWithWarmUpLR
from mf_train.schedules.natural_exp_decay import NaturalExpDecayLR
from mf_train.schedules.polynomial import PolynomialWithWarmUpLR
from mf_train.schedules.polynomial_decay import PolynomialDecayLR
from mf_train.schedules.stable_decay import WarmUpStableDecayLR
from mf_train.schedules.warm_up import WarmUpLR

SCHEDULES = {
    cls.__name__: cls for cls in (ConstantWarmUpLR, CosineWithWarmUpLR, LinearWithWarmUpLR, PolynomialWithWarmUpLR)
}
WARM_UP = {"learning_rate": 1e-3, "warmup_steps": 2, "total_steps": 10, "lr_end": 1e-4}
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
        (
            CosineWithWarmUpLR(**WARM_UP, decay_steps=6),
            (0, 5e-4, 1e-3, 9.65746e-4, 7.22208e-4, 1e-4, 1e-4, 1e-4, 1e-4),
        ),
        (
            CosineWithRestartsAndWarmUpLR(**WARM_UP, num_cycles=2),
            (0, 5e-4, 1e-3, 8.68198e-4, 2.31802e-4, 5.5e-4, 2.31802e-4, 1e-4, 1e-4),
        ),
        (
            # MindFormers falls to 0 here from update 10 on.
            CosineWithRestartsAndWarmUpLR(**WARM_UP, decay_steps=14),
            (0, 5e-4, 1e-3, 9.65746e-4, 7.22208e-4, 2.31802e-4, 1.34254e-4, 1e-4, 1e-4),
        ),
        (
            PolynomialWithWarmUpLR(**WARM_UP),
            (0, 5e-4, 1e-3, 8.875e-4, 6.625e-4, 3.25e-4, 2.125e-4, 1e-4, 1e-4),
        ),
        (
            PolynomialWithWarmUpLR(**WARM_UP, power=2.0),
            (0, 5e-4, 1e-3, 7.89063e-4, 4.51563e-4, 1.5625e-4, 1.14062e-4, 1e-4, 1e-4),
        ),
        (
            # MindFormers gives NaN here from update 8 to update 10.
            PolynomialWithWarmUpLR(**WARM_UP, power=0.5, decay_steps=4),
            (0, 5e-4, 1e-3, 8.79423e-4, 5.5e-4, 1e-4, 1e-4, 1e-4, 1e-4),
        ),
        (
            # Of MindFormers 1.6, by its formula: L - (L - lr_end) * (update - 4) / (10 - 4).
            WarmUpStableDecayLR(**WARM_UP, decay_start_steps=4),
            (0, 5e-4, 1e-3, 1e-3, 8.5e-4, 4e-4, 2.5e-4, 1e-4, 1e-4),
        ),
        (
            WarmUpStableDecayLR(**WARM_UP, decay_start_steps=9, decay_start_ratio=0.49),
            (0, 5e-4, 1e-3, 1e-3, 8.5e-4, 4e-4, 2.5e-4, 1e-4, 1e-4),
        ),
    ],
)
def test_rates_are_those_of_mindformers(schedule, rates):
    assert [schedule.rate(update, 999) for update in UPDATES] == pytest.approx(list(rates), rel=5e-6)


@pytest.mark.golden
@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (
            CosineAnnealingLR(base_lr=1e-3, t_max=8, eta_min=1e-4),
            {0: 1e-3, 4: 5.5e-4, 8: 1e-4, 12: 5.5e-4, 16: 1e-3},
        ),
        (
            CosineAnnealingWarmRestarts(base_lr=1e-3, t_0=4, t_mult=2, eta_min=1e-4),
            {
                0: 1e-3,
                2: 5.5e-4,
                4: 1e-3,
                8: 5.5e-4,
                11: 1.34254e-4,
                12: 1e-3,
                13: 9.91353e-4,
                27: 1.08647e-4,
                28: 1e-3,
            },
        ),
        (CosineAnnealingWarmRestarts(base_lr=1e-3, t_0=4, eta_min=1e-4), {3: 2.31802e-4, 4: 1e-3, 6: 5.5e-4, 40: 1e-3}),
    ],
)
def test_rates_without_an_end_are_those_of_mindformers(schedule, rates):
    assert {update: schedule.rate(update, 999) for update in rates} == pytest.approx(rates, rel=5e-6)


@pytest.mark.golden
@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (
            CosineDecayLR(min_lr=1e-4, max_lr=1e-3, decay_steps=8),
            (1e-3, 9.657458e-4, 8.681981e-4, 7.222075e-4, 3.777925e-4, 1e-4, 1e-4, 1e-4, 1e-4),
        ),
        (
            PolynomialDecayLR(learning_rate=1e-3, end_learning_rate=1e-4, decay_steps=4, power=2.0),
            (1e-3, 6.0625e-4, 3.25e-4, 1.5625e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4),
        ),
        (
            PolynomialDecayLR(
                learning_rate=1e-3, end_learning_rate=1e-4, decay_steps=4, power=2.0, update_decay_steps=True
            ),
            (1e-3, 6.0625e-4, 3.25e-4, 1.5625e-4, 2.265625e-4, 1e-4, 1.5625e-4, 1.25e-4, 1e-4),
        ),
        (
            ExponentialDecayLR(learning_rate=1e-3, decay_rate=0.5, decay_steps=4),
            (1e-3, 8.408964e-4, 7.071068e-4, 5.946035e-4, 4.204482e-4, 2.5e-4, 2.102241e-4, 1.767767e-4, 1.25e-4),
        ),
        (
            ExponentialDecayLR(learning_rate=1e-3, decay_rate=0.5, decay_steps=4, is_stair=True),
            (1e-3, 1e-3, 1e-3, 1e-3, 5e-4, 2.5e-4, 2.5e-4, 2.5e-4, 1.25e-4),
        ),
        (
            InverseDecayLR(learning_rate=1e-3, decay_rate=0.5, decay_steps=4),
            (1e-3, 8.88889e-4, 8e-4, 7.272728e-4, 6.153847e-4, 5e-4, 4.705882e-4, 4.444445e-4, 4e-4),
        ),
        (
            InverseDecayLR(learning_rate=1e-3, decay_rate=0.5, decay_steps=4, is_stair=True),
            (1e-3, 1e-3, 1e-3, 1e-3, 6.666667e-4, 5e-4, 5e-4, 5e-4, 4e-4),
        ),
        (
            NaturalExpDecayLR(learning_rate=1e-3, decay_rate=0.5, decay_steps=4),
            (
                1e-3,
                6.065307e-4,
                3.678795e-4,
                2.231302e-4,
                8.208501e-5,
                1.831564e-5,
                1.1109e-5,
                6.737948e-6,
                2.478753e-6,
            ),
        ),
        (
            NaturalExpDecayLR(learning_rate=1e-3, decay_rate=0.5, decay_steps=4, is_stair=True),
            (1e-3, 1e-3, 1e-3, 1e-3, 1.353353e-4, 1.831564e-5, 1.831564e-5, 1.831564e-5, 2.478753e-6),
        ),
        (WarmUpLR(learning_rate=1e-3, warmup_steps=4), (0, 2.5e-4, 5e-4, 7.5e-4, *[1e-3] * 5)),
    ],
)
def test_rates_are_those_of_mindspore(schedule, rates):
    """Measured on the classes of the same names in MindSpore 2.10, in float32."""
    assert [schedule.rate(update, 999) for update in UPDATES] == pytest.approx(list(rates), rel=1e-6)


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


def test_warm_up_of_epochs_counts_their_updates():
    schedule = CosineWithWarmUpLR(learning_rate=1.0, warmup_epochs=2, warmup_steps=3)
    assert [schedule.with_epochs_of(5).rate(update, 40) for update in (0, 5, 10)] == pytest.approx([0.0, 0.5, 1.0])
    by_ratio = replace(schedule, warmup_ratio=0.5).with_epochs_of(5)
    assert by_ratio.rate(10, 40) == pytest.approx(0.5)
    steps = replace(schedule, warmup_epochs=None)
    assert steps.with_epochs_of(5) is steps


def test_conflicting_keys_are_problems():
    schedule = LinearWithWarmUpLR(learning_rate=1e-3, warmup_steps=20, total_steps=10, warmup_lr_init=1e-2)
    assert [problem[0] for problem in schedule.problems()] == ["warmup_steps", "warmup_lr_init"]
    assert [problem[0] for problem in LinearWithWarmUpLR(learning_rate=1e-3, total_steps=0).problems()] == [
        "total_steps"
    ]
    assert not list(LinearWithWarmUpLR(learning_rate=1e-3, warmup_ratio=1.0, total_steps=10).problems())
    rising = PolynomialWithWarmUpLR(learning_rate=1e-3, lr_end=1e-2)
    assert list(rising.problems()) == [("lr_end", "0.01 exceeds learning_rate 0.001", "up to 0.001")]
    assert not list(PolynomialWithWarmUpLR(learning_rate=1e-3, lr_end=1e-3).problems())
    endless = WarmUpStableDecayLR(learning_rate=1e-3, lr_end=1e-2)
    assert [problem[0] for problem in endless.problems()] == ["decay_start_steps", "lr_end"]
    flat = CosineDecayLR(min_lr=1e-3, max_lr=1e-3, decay_steps=4)
    assert [problem[0] for problem in flat.problems()] == ["min_lr"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "{type: CosineWithWarmUpLR, learning_rate: 1.e-5, lr_end: 0, warmup_ratio: 0, total_steps: -1}",
            {"learning_rate": 1e-5, "lr_end": 0.0, "warmup_ratio": 0.0, "total_steps": -1, "num_cycles": 0.5},
        ),
        (
            "{type: cosine, learning_rate: 0.00015, lr_end: 0., warmup_lr_init: 0., total_steps: -1}",
            {"learning_rate": 1.5e-4, "warmup_steps": 0, "decay_steps": None},
        ),
        (
            "{type: polynomial, learning_rate: 5.e-5, lr_end: 1.e-6, warmup_steps: 0, total_steps: -1}",
            {"lr_end": 1e-6, "power": 1.0, "warmup_epochs": None},
        ),
        ("{type: cosine_with_restarts, learning_rate: 1e-5}", {"num_cycles": 1.0, "lr_end": 0.0}),
        ("{type: cosine_annealing, base_lr: 1e-5, t_max: 10}", {"base_lr": 1e-5, "eta_min": 0.0}),
        ("{type: cosine_annealing_warm_restarts, base_lr: 1e-5, t_0: 10}", {"t_0": 10, "t_mult": 1}),
        ("{type: constant_with_warmup, learning_rate: 1e-5, warmup_epochs: 1}", {"warmup_epochs": 1}),
        ("{type: linear, learning_rate: 1e-5, total_steps: 100}", {"total_steps": 100}),
        (
            "{type: WarmUpStableDecayLR, learning_rate: 1e-5, warmup_ratio: 0.1, decay_start_ratio: 0.8}",
            {"lr_end": 1e-7, "decay_start_steps": None},
        ),
    ],
)
def test_schedules_are_read_under_the_names_of_mindformers(section_of, text, expected):
    section = section_of("lr_schedule", text)
    assert {name: getattr(section, name) for name in expected} == expected

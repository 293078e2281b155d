"""The loss scale against the series that MindFormers' cell gives, and against those of case c12."""

import json
from pathlib import Path

import pytest

from mf_config.sections.runner import LossScaleSection
from mf_train.schedules.cosine import CosineWithWarmUpLR
from mf_train.step.loss_scale import LossScale


def after_each(scale: LossScale, overflows: list[bool]) -> list[float]:
    values = []
    for overflow in overflows:
        scale.update(overflow)
        values.append(scale.value)
    return values


@pytest.mark.golden
def test_series_of_mindformers():
    scale = LossScale.from_section(LossScaleSection(loss_scale_value=1024, scale_factor=2, scale_window=3))
    overflows = [step == 5 for step in range(1, 12)]
    assert after_each(scale, overflows) == [1024, 1024, 2048, 2048, 1024, 1024, 1024, 2048, 2048, 2048, 4096]


@pytest.mark.golden
def test_overflows_move_the_scale_but_not_the_schedule(data: Path):
    case = json.loads((data / "c12-overflow.json").read_text())
    scale = LossScale.from_section(LossScaleSection(loss_scale_value=65536, scale_factor=2, scale_window=3))
    schedule = CosineWithWarmUpLR(learning_rate=1e-3, warmup_steps=2, total_steps=20)
    updates = 0
    for step in case["trace"]:
        assert scale.value == step["scale_used"]
        if step["update_applied"]:
            assert updates == step["optimizer_step_index"]
            assert schedule.rate(updates, 20) == pytest.approx(step["lr"], rel=1e-9)
        scale.update(step["overflow"])
        updates += not step["overflow"]
        assert scale.value == step["scale_after"]


def adaptive(**keys: int) -> LossScale:
    section = LossScaleSection(
        type="AdaptiveLossScaleUpdateCell", loss_scale_value=1024, scale_factor=2, **{"scale_window": 20, **keys}
    )
    return LossScale.from_section(section)


@pytest.mark.golden
def test_adaptive_series_of_mindformers():
    scale = adaptive()
    values = after_each(scale, [False] * 60)
    assert [step for step, value in enumerate(values, start=1) if value != ([1024.0, *values])[step - 1]] == [
        20,
        40,
        60,
    ]
    assert (scale.value, scale.window) == (8192, 30)
    assert after_each(scale, [True] * 3) == [4096, 2048, 1024]
    assert scale.window == 1
    # Three growths, one a step, lead back to the lowest rung.
    assert after_each(scale, [False] * 4) == [2048, 4096, 8192, 8192]
    assert scale.window == 20


def test_restored_adaptive_scale_goes_on_like_the_saved_one():
    flags = ([False] * 25 + [True] * 2 + [False] * 70) * 2 + [True] * 3 + [False] * 30
    whole = after_each(adaptive(), flags)
    first, second = adaptive(), adaptive()
    after_each(first, flags[:150])
    second.restore(json.loads(json.dumps(first.state())))
    assert second == first
    assert after_each(second, flags[150:]) == whole[150:]


def test_scales_of_another_kind_take_what_they_can_use():
    fixed = LossScale(8.0)
    fixed.restore(adaptive().state())
    moving = adaptive()
    moving.restore(LossScale(8.0).state())
    assert (fixed.value, moving.value, moving.window) == (1024.0, 8.0, 20)


def test_dynamic_scale_stays_at_one_or_above(data: Path):
    floor = json.loads((data / "c12-overflow.json").read_text())["floor"]
    scale = LossScale.from_section(LossScaleSection(loss_scale_value=4))
    assert after_each(scale, [True] * 4) == floor
    assert scale.stuck == 2


def test_large_scales_are_whole():
    assert LossScale.from_section(LossScaleSection(loss_scale_value=4294967296)).value == 4294967296.0


@pytest.mark.parametrize("section", [0.5, LossScaleSection(type="FixedLossScaleUpdateCell", loss_scale_value=0.5)])
def test_constant_scales_never_move(section):
    scale = LossScale.from_section(section)
    assert set(after_each(scale, [True, False] * 5)) == {0.5}


def test_stuck_counts_only_overflows_in_a_row():
    scale = LossScale(1.0)
    after_each(scale, [True, True, False, True])
    assert scale.stuck == 1


def test_restored_scale_goes_on_like_the_saved_one():
    flags = [False, False, True, False, False, False, False, True, False]
    whole = after_each(LossScale(1024.0, 2.0, 3), flags)
    first, second = LossScale(1024.0, 2.0, 3), LossScale(8.0, 2.0, 3)
    after_each(first, flags[:4])
    second.restore(json.loads(json.dumps(first.state())))
    assert after_each(second, flags[4:]) == whole[4:]

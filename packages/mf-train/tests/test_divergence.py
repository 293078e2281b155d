"""When a run gives up."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config import RunConfig
from mf_config.sections.observation import MonitorSection
from mf_train.divergence import DivergenceGuard, skipped_norm, skips_loss_spikes


def config_of(skips: bool = False, **keys: object) -> RunConfig:
    section = {"monitor_on": True, "check_for_global_norm": True, "global_norm_spike_count_threshold": 2, **keys}
    return RunConfig(monitor_config=MonitorSection(**section), use_skip_data_by_global_norm=skips)


def guard(skips: bool = False, **keys: object) -> DivergenceGuard:
    return DivergenceGuard.of(config_of(skips, **keys))


def test_spikes_in_a_row_end_a_run():
    counting = guard()
    norms = [3.0, 2.9, 5.0]
    assert [counting.verdict(1.0, norm, False, 0) for norm in norms] == ["", "", ""]
    assert counting.verdict(1.0, 3.0, False, 0) == (
        "the global norm of the gradients, now 3, was at or above monitor_config.global_norm_spike_threshold 3 "
        "in 2 steps in a row"
    )


def test_overflows_are_no_spikes_and_interrupt_none():
    counting = guard()
    assert [counting.verdict(1.0, norm, math.isinf(norm), 0) for norm in (9.0, math.inf, math.inf)] == ["", "", ""]
    assert counting.verdict(1.0, 9.0, False, 0)


@pytest.mark.parametrize("keys", [{"monitor_on": False}, {"check_for_global_norm": False}])
def test_nothing_is_a_spike_where_nobody_asks(keys):
    counting = guard(**keys)
    assert [counting.verdict(1e9, 1e9, False, 0) for _ in range(20)] == [""] * 20


def test_spikes_are_skipped_where_the_run_says_so():
    assert skipped_norm(config_of()) == math.inf
    assert skipped_norm(config_of(skips=True, monitor_on=False)) == math.inf
    skipping = {"skips": True, "check_for_global_norm": False, "global_norm_spike_threshold": 2.5}
    assert skipped_norm(config_of(**skipping)) == 2.5
    counting = guard(**skipping)
    assert counting.verdict(1.0, 2.5, False, 0) == ""
    assert counting.verdict(1.0, 2.5, False, 0) != ""


def test_ten_stuck_steps_end_every_run():
    assert DivergenceGuard().verdict(1.0, math.nan, True, 9) == ""
    assert "not finite in 10 steps in a row" in DivergenceGuard().verdict(1.0, math.nan, True, 10)


def test_a_run_says_how_many_stuck_steps_end_it():
    patient = guard(monitor_on=False, not_finite_count_threshold=12)
    assert patient.verdict(math.nan, math.nan, True, 11) == ""
    assert "not finite in 12 steps in a row" in patient.verdict(math.nan, math.nan, True, 12)


def losses_guard(**keys: object) -> DivergenceGuard:
    sizes = {"loss_spike_factor": 1.5, "loss_spike_window": 3, "loss_spike_count_threshold": 2}
    return guard(**{"check_for_global_norm": False, "check_for_loss": True, **sizes, **keys})


def verdicts(counting: DivergenceGuard, losses: list[float]) -> list[str]:
    return [counting.verdict(loss, 1.0, not math.isfinite(loss), 0) for loss in losses]


def test_spikes_of_the_loss_in_a_row_end_a_run():
    counting = losses_guard()
    assert verdicts(counting, [9, 3, 3]) == [""] * 3
    assert counting.loss_spike == 1.5 * 5
    # 2 takes the place of 9, so that 4 is a spike; it is no part of the mean, and 3.9 is below it.
    assert verdicts(counting, [2, 4, 3.9]) == [""] * 3
    assert counting.loss_spike == pytest.approx(1.5 * (3 + 2 + 3.9) / 3)
    assert verdicts(counting, [5, math.inf]) == [""] * 2
    assert counting.verdict(6, 1.0, False, 0) == (
        "the loss, now 6, was at or above 4.45, monitor_config.loss_spike_factor 1.5 times the mean of the 3 before, "
        "in 2 steps in a row"
    )


def test_no_loss_is_a_spike_before_the_window_is_full():
    counting = losses_guard(loss_spike_window=4, loss_spike_count_threshold=1)
    assert verdicts(counting, [1, 1, 100, 1]) == [""] * 4
    assert counting.loss_spike == 1.5 * 103 / 4
    assert counting.verdict(38.7, 1.0, False, 0)


def test_norm_and_loss_are_judged_beside_each_other():
    counting = losses_guard(check_for_global_norm=True, global_norm_spike_count_threshold=1)
    assert verdicts(counting, [1, 1, 1, 2]) == [""] * 4
    said = counting.verdict(2, 3.0, False, 0)
    assert "the global norm" in said
    assert "the loss, now 2" in said


@given(
    losses=st.lists(st.floats(0.125, 100), max_size=40),
    cut=st.integers(0, 40),
    window=st.integers(1, 8),
)
def test_a_resumed_run_judges_as_one_without_a_break(losses: list[float], cut: int, window: int):
    whole, first, second = (losses_guard(loss_spike_window=window) for _ in range(3))
    wanted = verdicts(whole, losses)
    begun = verdicts(first, losses[:cut])
    second.restore(json.loads(json.dumps(first.state())))
    assert begun + verdicts(second, losses[cut:]) == wanted
    assert second == whole


def test_losses_are_skipped_where_the_run_says_so():
    assert not skips_loss_spikes(config_of(check_for_loss=True))
    assert skips_loss_spikes(config_of(skip_loss_spikes=True))
    assert not skips_loss_spikes(config_of(skip_loss_spikes=True, monitor_on=False))

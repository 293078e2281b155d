"""When a run gives up."""

import math

import pytest

from mf_config import RunConfig
from mf_config.sections.observation import MonitorSection
from mf_train.divergence import DivergenceGuard, skipped_norm


def config_of(skips: bool = False, **keys: object) -> RunConfig:
    section = {"monitor_on": True, "check_for_global_norm": True, "global_norm_spike_count_threshold": 2, **keys}
    return RunConfig(monitor_config=MonitorSection(**section), use_skip_data_by_global_norm=skips)


def guard(skips: bool = False, **keys: object) -> DivergenceGuard:
    return DivergenceGuard.of(config_of(skips, **keys))


def test_spikes_in_a_row_end_a_run():
    counting = guard()
    norms = [3.0, 2.9, 5.0]
    assert [counting.verdict(norm, False, 0) for norm in norms] == ["", "", ""]
    assert counting.verdict(3.0, False, 0) == (
        "the global norm of the gradients, now 3, was at or above monitor_config.global_norm_spike_threshold 3 "
        "in 2 steps in a row"
    )


def test_overflows_are_no_spikes_and_interrupt_none():
    counting = guard()
    assert [counting.verdict(norm, math.isinf(norm), 0) for norm in (9.0, math.inf, math.inf)] == ["", "", ""]
    assert counting.verdict(9.0, False, 0)


@pytest.mark.parametrize("keys", [{"monitor_on": False}, {"check_for_global_norm": False}])
def test_nothing_is_a_spike_where_nobody_asks(keys):
    counting = guard(**keys)
    assert [counting.verdict(1e9, False, 0) for _ in range(20)] == [""] * 20


def test_spikes_are_skipped_where_the_run_says_so():
    assert skipped_norm(config_of()) == math.inf
    assert skipped_norm(config_of(skips=True, monitor_on=False)) == math.inf
    skipping = {"skips": True, "check_for_global_norm": False, "global_norm_spike_threshold": 2.5}
    assert skipped_norm(config_of(**skipping)) == 2.5
    counting = guard(**skipping)
    assert counting.verdict(2.5, False, 0) == ""
    assert counting.verdict(2.5, False, 0) != ""


def test_ten_stuck_steps_end_every_run():
    assert DivergenceGuard().verdict(math.nan, True, 9) == ""
    assert "not finite in 10 steps in a row" in DivergenceGuard().verdict(math.nan, True, 10)

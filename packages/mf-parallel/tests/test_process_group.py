"""Rank and size from the environment."""

import pytest

from mf_config.problems import UserError
from mf_parallel.process_group import ProcessGroup

WORKER = {"MS_ROLE": "MS_WORKER", "RANK_ID": "1", "MS_WORKER_NUM": "2"}


def test_a_process_that_msrun_did_not_start_is_alone():
    assert ProcessGroup.from_environment({"RANK_ID": "7"}) == ProcessGroup(rank=0, size=1, is_scheduler=False)


def test_a_worker_knows_its_rank():
    assert ProcessGroup.from_environment(WORKER) == ProcessGroup(rank=1, size=2, is_scheduler=False)


def test_the_scheduler_is_no_worker():
    assert ProcessGroup.from_environment({**WORKER, "MS_ROLE": "MS_SCHED", "RANK_ID": "0"}).is_scheduler


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"RANK_ID": ""}, "RANK_ID is ''.*--node_rank"),
        ({"RANK_ID": "-1"}, "RANK_ID is '-1'"),
        ({"RANK_ID": "2"}, "RANK_ID 2 with MS_WORKER_NUM 2. Allowed: 0 to 1"),
        ({"MS_WORKER_NUM": "two"}, "MS_WORKER_NUM is 'two'. Allowed: a whole number from 1"),
        ({"MS_WORKER_NUM": "0"}, "MS_WORKER_NUM is '0'"),
    ],
)
def test_nonsense_is_named(change, message):
    with pytest.raises(UserError, match=message):
        ProcessGroup.from_environment({**WORKER, **change})

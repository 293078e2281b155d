"""A group of one communicates with nobody; a device's own collectives. Several processes are in test_gradients."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from mf_config.problems import UserError

pytest.importorskip("mindspore")
# It imports mindspore, which may be missing here.
from mf_parallel.collectives import Communicator, connect
from mf_parallel.process_group import ProcessGroup
from mf_parallel.simulation import SimulatedRank, simulate


def test_a_group_of_one_needs_no_connection():
    connect(ProcessGroup())
    alone = Communicator(3, [3])
    alone.barrier()
    assert (alone.size, alone.position) == (1, 0)
    assert alone.gather({"a": [1.5]}) == [{"a": [1.5]}]
    np.testing.assert_array_equal(alone.all_reduce_sum(np.array([1, 2], np.float32)), [1, 2])


def test_groups_of_other_ranks_are_refused():
    with pytest.raises(UserError, match=r"rank 0 is not among \[1, 2\]"):
        Communicator(0, [1, 2])


@pytest.mark.multiproc
@pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in for CANN needs a C compiler")
def test_a_device_that_has_them_gets_its_own_collectives():
    programs = [Path(__file__).parent / "programs"]
    sizes = {"rows": 4, "columns": 6}
    found = simulate("simulated:compile_redistribution", sizes, SimulatedRank(rank=3, size=4), search_path=programs)
    collectives = {name: count for name, count in found.items() if "All" in name or "Scatter" in name}
    assert collectives == {"AllGather": 1, "ReduceScatter": 1, "AlltoAll": 2}

"""A group of one communicates with nobody; several processes are in test_gradients."""

import numpy as np
import pytest

from mf_config.problems import UserError

pytest.importorskip("mindspore")
# It imports mindspore, which may be missing here.
from mf_parallel.collectives import Communicator, connect
from mf_parallel.process_group import ProcessGroup


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

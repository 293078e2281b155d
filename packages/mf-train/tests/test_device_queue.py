"""Rows that wait on the device; its queue is played by MindSpore's pipeline on the host, or by a stand-in for CANN."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mindspore as ms
import numpy as np
import pytest

from mf_config import UserError
from mf_parallel.simulation import SimulatedRank, simulate
from mf_train.device_queue import DeviceQueue
from mf_train.task import Examples

STEPS = range(3, 9)


def examples_of(step: int) -> Examples:
    ids_BT = np.arange(6, dtype=np.int32).reshape(2, 3) + step
    return Examples(ids_BT, ids_BT + 1, np.full((2, 3), 0.5, np.float32))


@pytest.fixture
def host_queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Lets the host read the pipeline; gives what its sending end was told."""
    told: list[str] = []

    def data_sink(take: Callable[..., Any], pipeline: Any, **_: Any) -> Callable[[], Any]:
        names = ("stop_send", "release")
        pipeline.__transfer_dataset__ = SimpleNamespace(**{name: lambda name=name: told.append(name) for name in names})
        items = pipeline.create_tuple_iterator(num_epochs=1)
        return lambda: take(*next(items))

    monkeypatch.setattr(ms, "data_sink", data_sink)
    yield told


def test_each_step_takes_its_own_rows(host_queue: list[str]) -> None:
    with closing(DeviceQueue(examples_of, STEPS)) as queue:
        for step in STEPS:
            found, wanted = queue.next(), examples_of(step)
            assert isinstance(found.input_ids_BT, ms.Tensor)
            np.testing.assert_array_equal(np.asarray(found.input_ids_BT), wanted.input_ids_BT)
            np.testing.assert_array_equal(np.asarray(found.labels_BT), wanted.labels_BT)
            np.testing.assert_array_equal(np.asarray(found.weights_BT), wanted.weights_BT)
            assert found.document_starts_BT is None
            parts = [np.asarray(part.labels_BT) for part in found.split(2)]
            np.testing.assert_array_equal(np.concatenate(parts), wanted.labels_BT)
    assert host_queue == ["stop_send", "release"]


def test_a_damaged_row_is_told_as_such(host_queue: list[str]) -> None:
    def damaged(step: int) -> Examples:
        if step == 6:
            raise UserError("corpus.bin: sequence 7 is damaged")
        return examples_of(step)

    queue = DeviceQueue(damaged, STEPS)
    with pytest.raises(UserError, match=r"corpus.bin: sequence 7 is damaged"):
        for _ in STEPS:
            queue.next()


@pytest.mark.multiproc
@pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in for CANN needs a C compiler")
def test_rows_come_through_the_queue_in_sink_mode_alone(write_run: Callable[[Path], Path], tmp_path: Path) -> None:
    found = simulate(
        "queued_rows:with_and_without_sink_mode",
        {"run_file": str(write_run(tmp_path))},
        SimulatedRank(executes=True),
        search_path=[Path(__file__).parent / "programs"],
        timeout_s=300,
    )
    assert found == [["Tensor (4, 12)"] * 3, ["ndarray (4, 12)"] * 3]

"""Saves in the background: what is copied, who waits, and how failures come out."""

import logging
import os
import resource
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from mf_ckpt import BackgroundSaver, CheckpointError, Snapshot, Writer, latest, retire, step_name, verify
from mf_ckpt import open as open_checkpoint

LIMIT_BYTES = 200_000
"""Above the space that a file keeps for its header, below a file with `LARGE` in it."""

LARGE = np.ones(100_000, np.float32)

UNCLOSED = """
import resource, sys
import numpy as np
from mf_ckpt import BackgroundSaver
saver = BackgroundSaver()
if sys.argv[2] == "fail":
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
with saver.save(sys.argv[1], step=1) as snapshot:
    snapshot.add("w", np.ones(3_000_000, np.float32))
"""


@contextmanager
def full_disk() -> Iterator[None]:
    """Files may not grow beyond `LIMIT_BYTES`: the system refuses to write more, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A disk that finishes no file until the gate is opened."""
    opened = threading.Event()
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        assert opened.wait(timeout=60)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    yield opened
    opened.set()


def save(saver: BackgroundSaver, place: Path, array: np.ndarray, step: int = 1) -> None:
    with saver.save(place, step=step) as snapshot:
        snapshot.add("w", array)


def fill(target: Writer | Snapshot, source: Path) -> None:
    target.add("b", np.arange(6, dtype=np.float32).reshape(2, 3).T)
    target.add("a", np.float32([1.00390625, 1.01171875]), "BF16")
    target.add("scalar", np.float64(3))
    target.add("empty", np.zeros((0, 4), np.int8))
    target.add_optimizer("b.exp_avg", np.ones(5, np.float16))
    target.add_json("trainer_state.json", {"step": 3})
    target.add_file("tokenizer.json", b"{}")
    target.add_file("tokenizer.model", source)


def test_the_files_are_those_that_a_writer_makes(tmp_path: Path):
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)))
    with Writer(tmp_path / "writer", step=3, shard_bytes=16) as writer:
        fill(writer, source)
    with BackgroundSaver() as saver, saver.save(tmp_path / "saver", step=3, shard_bytes=16) as snapshot:
        fill(snapshot, source)
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("writer", "saver")
    )
    assert first == second
    assert verify(tmp_path / "saver") == []


def test_what_changes_after_the_copy_is_not_saved(tmp_path: Path, gate: threading.Event):
    array, document = np.zeros(4, np.float32), {"step": 1}
    with BackgroundSaver() as saver:
        with saver.save(tmp_path / "c") as snapshot:
            snapshot.add("w", array)
            snapshot.add_optimizer("w", array[::2])
            snapshot.add_json("trainer_state.json", document)
        array += 1
        document["step"] = 2
        gate.set()
    reader = open_checkpoint(tmp_path / "c")
    assert reader["w"].tolist() == [0, 0, 0, 0]
    assert reader.optimizer["w"].tolist() == [0, 0]
    assert reader.trainer_state == {"step": 1}


def test_the_caller_goes_on_and_the_next_save_waits(tmp_path: Path, gate: threading.Event):
    entered = threading.Event()

    def second_save(saver: BackgroundSaver) -> None:
        with saver.save(tmp_path / step_name(2), step=2) as snapshot:
            entered.set()
            snapshot.add("w", np.float32([2]))

    with BackgroundSaver() as saver:
        save(saver, tmp_path / step_name(1), np.float32([1]))
        assert latest(tmp_path) is None
        other = threading.Thread(target=second_save, args=(saver,))
        other.start()
        assert not entered.wait(timeout=0.2)
        gate.set()
        assert entered.wait(timeout=60)
        # The second save begins to copy only when the first one is complete.
        assert latest(tmp_path) is not None
        other.join()
    assert [open_checkpoint(tmp_path / step_name(step))["w"][0] for step in (1, 2)] == [1, 2]


def test_the_memory_of_the_former_copy_is_written_over(tmp_path: Path):
    arrays = {str(number): np.full(100_000, number, np.float32) for number in range(10)}
    with BackgroundSaver() as saver:
        for step in (1, 2):
            saver.wait()
            tracemalloc.start()
            with saver.save(tmp_path / step_name(step), step=step) as snapshot:
                for name, array in arrays.items():
                    snapshot.add(name, array + step)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
    # One array is the sum made here; a new copy of all would be ten.
    assert peak < 2.5 * arrays["0"].nbytes
    for step in (1, 2):
        reader = open_checkpoint(tmp_path / step_name(step))
        assert all(np.array_equal(reader[name], array + step) for name, array in arrays.items())


def test_another_shape_or_type_of_the_same_name_gets_memory_of_its_own(tmp_path: Path):
    with BackgroundSaver() as saver:
        for step, array in enumerate((np.float32([1, 2]), np.float32([[3]]), np.int32([[4]]))):
            save(saver, tmp_path / str(step), array)
    assert [open_checkpoint(tmp_path / str(step))["w"].tolist() for step in range(3)] == [[1, 2], [[3]], [[4]]]


def test_then_runs_when_the_checkpoint_is_complete(tmp_path: Path):
    seen = []
    with BackgroundSaver() as saver:
        for step in (1, 2, 3):
            place = tmp_path / step_name(step)
            with saver.save(place, step=step, then=lambda path: seen.append((verify(path), retire(tmp_path, 1)))) as s:
                s.add("w", np.float32([step]))
    assert [findings for findings, _ in seen] == [[], [], []]
    assert [path.name for _, retired in seen for path in retired] == [step_name(1), step_name(2)]


def test_an_exception_while_the_copy_is_taken_saves_nothing(tmp_path: Path):
    with BackgroundSaver() as saver:
        with pytest.raises(KeyError), saver.save(tmp_path / "c") as snapshot:
            snapshot.add("w", np.zeros(1))
            raise KeyError
        save(saver, tmp_path / "d", np.float32([1]))
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize("ask", ["save", "wait", "close"])
def test_a_full_disk_comes_out_at_the_next_call(tmp_path: Path, ask: str, caplog: pytest.LogCaptureFixture):
    with full_disk():
        saver = BackgroundSaver()
        save(saver, tmp_path / "former", np.float32([1]))
        saver.wait()
        save(saver, tmp_path / "lost", LARGE)
        with pytest.raises(OSError, match="File too large") as caught:
            if ask == "save":
                save(saver, tmp_path / "next", np.float32([2]))
            else:
                getattr(saver, ask)()
    assert caught.value.__notes__ == [f"This happened while {tmp_path}/lost was being saved in the background."]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert [path.name for path in tmp_path.iterdir()] == ["former"]
    assert verify(tmp_path / "former") == []


def test_a_failure_is_raised_once_and_the_saver_goes_on(tmp_path: Path):
    with BackgroundSaver() as saver:
        with full_disk():
            save(saver, tmp_path / "c", LARGE)
            with pytest.raises(OSError, match="File too large"):
                saver.wait()
        saver.wait()
        save(saver, tmp_path / "c", LARGE)
    assert np.array_equal(open_checkpoint(tmp_path / "c")["w"], LARGE)


def test_a_failure_of_then_comes_out_and_the_checkpoint_stays(tmp_path: Path):
    def refuse(path: Path) -> None:
        raise ConnectionError("no route to the store")

    saver = BackgroundSaver()
    with saver.save(tmp_path / "c", then=refuse) as snapshot:
        snapshot.add("w", np.float32([1]))
    with pytest.raises(ConnectionError, match="no route"):
        saver.close()
    assert verify(tmp_path / "c") == []


def test_an_exception_of_the_program_goes_before_that_of_the_save(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with full_disk(), pytest.raises(KeyError), BackgroundSaver() as saver:
        save(saver, tmp_path / "c", LARGE)
        raise KeyError
    assert "saving" in caplog.text
    assert "File too large" in caplog.text


def test_wrong_use_is_refused_at_once(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("years of work")
    saver = BackgroundSaver()
    with pytest.raises(CheckpointError, match="exists and is not a checkpoint"), saver.save(tmp_path / "notes"):
        pass
    with pytest.raises(ValueError, match="'w' was added before"), saver.save(tmp_path / "c") as snapshot:
        snapshot.add("w", np.zeros(1))
        snapshot.add("w", np.zeros(1))
    with pytest.raises(ValueError, match="can't be added"), saver.save(tmp_path / "c") as snapshot:
        snapshot.add_json("manifest.json", {})
    with (
        pytest.raises(FileExistsError, match=r"'config\.json' was added before"),
        saver.save(tmp_path / "c") as snapshot,
    ):
        snapshot.add_json("config.json", {})
        snapshot.add_json("config.json", {})
    saver.close()
    with pytest.raises(RuntimeError, match="after shutdown"):
        save(saver, tmp_path / "c", np.zeros(1))
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_program_that_ends_finishes_its_save(tmp_path: Path):
    done = run_unclosed(tmp_path / "c", "succeed")
    assert (done.returncode, done.stderr) == (0, "")
    assert verify(tmp_path / "c") == []
    assert open_checkpoint(tmp_path / "c")["w"].sum() == 3_000_000


def test_a_program_that_ends_tells_of_a_save_that_failed(tmp_path: Path):
    done = run_unclosed(tmp_path / "c", "fail")
    assert f"saving {tmp_path}/c in the background failed" in done.stderr
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def run_unclosed(place: Path, outcome: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", UNCLOSED, str(place), outcome]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

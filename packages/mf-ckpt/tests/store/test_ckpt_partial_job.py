"""A transform that is interrupted goes on where it ended, and nothing is taken on trust."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mf_ckpt import KeyMap, Layout, Reader, Rename, Tie, Writer, transform, verify
from mf_ckpt import open as open_checkpoint
from mf_ckpt.sources.source import Slices, Source, TableSource
from mf_config.layout import Mesh, Shard, TensorLayout
from mf_config.problems import UserError

ROWS, TENSORS = 64, 12
BLOCK = 4096
"""Four blocks for each tensor."""


class StoppedError(Exception):
    """Stands for whatever ends a job."""


class Failing(TableSource[Source]):
    """Reads from another source, counts the bytes, and fails after some."""

    def __init__(self, source: Source, most: float = float("inf")):
        super().__init__(dict.fromkeys(source, source), "failing")
        self.nbytes = 0
        self._most = most

    def info(self, name: str):
        return self._entry(name).info(name)

    def raw(self, name: str, slices: Slices = ()):
        found = self._entry(name).raw(name, slices)
        self.nbytes += found.nbytes
        if self.nbytes > self._most:
            raise StoppedError
        return found


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("mf_ckpt.store.file_plan.BLOCK_BYTES", BLOCK)
    with Writer(tmp_path / "start") as writer:
        for number in range(TENSORS):
            writer.add(f"w{number}", np.random.default_rng(number).normal(size=(ROWS, 64)).astype(np.float32))
    return tmp_path / "start"


def layout(tp: int = 2) -> Layout:
    return Layout(Mesh.of(tp=tp), {f"w{n}": TensorLayout((ROWS, 64), (Shard(1, "tp"),)) for n in range(TENSORS)})


def interrupt(checkpoint: Path, target: Path, share: float) -> None:
    """Do a share of the job, then fail."""
    source = Failing(open_checkpoint(checkpoint).weights, share * TENSORS * ROWS * 64 * 4)
    with pytest.raises(StoppedError):
        transform(Reader(checkpoint, source), target, layout=layout(), workers=1)


def finish(checkpoint: Path, target: Path, tp: int = 2, keys: KeyMap | None = None) -> float:
    """Do the job; returns which share of the source was read."""
    source = Failing(open_checkpoint(checkpoint).weights)
    transform(Reader(checkpoint, source), target, layout=layout(tp), keys=keys, workers=1)
    return source.nbytes / (TENSORS * ROWS * 64 * 4)


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if "resumable" in path.name]


def assert_right(checkpoint: Path, target: Path) -> None:
    assert verify(target) == []
    assert leftovers(target.parent) == []
    found, expected = open_checkpoint(target), open_checkpoint(checkpoint)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_what_is_done_is_not_done_again(checkpoint: Path, tmp_path: Path, share: float):
    interrupt(checkpoint, tmp_path / "cut", share)
    assert not (tmp_path / "cut").exists()
    (partial,) = leftovers(tmp_path)
    with pytest.raises(UserError, match="save was interrupted"):
        open_checkpoint(partial)
    # All but the few blocks that were read and not written yet.
    assert finish(checkpoint, tmp_path / "cut") == pytest.approx(1 - share, abs=0.1)
    assert_right(checkpoint, tmp_path / "cut")


def test_another_job_starts_anew(checkpoint: Path, tmp_path: Path):
    interrupt(checkpoint, tmp_path / "cut", 0.8)
    assert finish(checkpoint, tmp_path / "cut", tp=4) == 1
    assert_right(checkpoint, tmp_path / "cut")


def test_a_source_that_changed_is_another_job(checkpoint: Path, tmp_path: Path):
    interrupt(checkpoint, tmp_path / "cut", 0.8)
    file = next(checkpoint.glob("*.safetensors"))
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    assert finish(checkpoint, tmp_path / "cut") == 1


def test_another_map_of_equal_names_is_another_job(checkpoint: Path, tmp_path: Path):
    interrupt(checkpoint, tmp_path / "cut", 0.8)
    swapped = {0: 1, 1: 0}
    keys = KeyMap([Rename(f"w{number}", f"w{swapped.get(number, number)}") for number in range(TENSORS)])
    assert finish(checkpoint, tmp_path / "cut", keys=keys) == 1


@pytest.mark.parametrize("damage", ["content", "journal", "short", "no journal"])
def test_what_does_not_have_its_checksum_is_done_again(checkpoint: Path, tmp_path: Path, damage: str):
    interrupt(checkpoint, tmp_path / "cut", 0.8)
    (partial,) = leftovers(tmp_path)
    first = partial / "model-rank-0000-00001-of-00001.safetensors"
    if damage == "content":
        with first.open("r+b") as file:
            file.seek(first.stat().st_size // 2)
            file.write(b"\xff" * 8)
    elif damage == "short":
        with first.open("r+b") as file:
            file.truncate(first.stat().st_size // 2)
    elif damage == "journal":
        content = (partial / ".journal").read_bytes()
        (partial / ".journal").write_bytes(content[: len(content) // 4])
    else:
        (partial / ".journal").unlink()
    read = finish(checkpoint, tmp_path / "cut")
    assert 0.3 < read <= 1
    assert_right(checkpoint, tmp_path / "cut")


def test_two_processes_do_not_write_the_same(checkpoint: Path, tmp_path: Path):
    def at_once(done: int, total: int) -> None:
        if 0 < done < total:
            with pytest.raises(UserError, match="is being written by another process"):
                transform(checkpoint, tmp_path / "cut", layout=layout())

    transform(checkpoint, tmp_path / "cut", layout=layout(), progress=at_once)
    assert_right(checkpoint, tmp_path / "cut")


def test_a_checkpoint_that_is_there_stays_until_the_new_one_is_complete(checkpoint: Path, tmp_path: Path):
    finish(checkpoint, tmp_path / "cut", tp=4)
    interrupt(checkpoint, tmp_path / "cut", 0.5)
    assert open_checkpoint(tmp_path / "cut").layout == layout(4)
    finish(checkpoint, tmp_path / "cut")
    assert open_checkpoint(tmp_path / "cut").layout == layout(2)


def test_a_mistake_that_shows_late_leaves_nothing(checkpoint: Path, tmp_path: Path):
    """Copies of a tied tensor are compared while they are written."""
    rows = [Tie("w", ("w0", "w1")), *(Rename(f"w{number}", f"w{number}") for number in range(2, TENSORS))]
    with pytest.raises(UserError, match="'w1' differs from 'w0'"):
        transform(checkpoint, tmp_path / "cut", keys=KeyMap(rows).inverse)
    assert [path.name for path in tmp_path.iterdir()] == ["start"]


PROGRAM = """
import sys
from pathlib import Path
import mf_ckpt.store.file_plan
from mf_ckpt import Layout, transform
from mf_config.layout import Mesh, Shard, TensorLayout
mf_ckpt.store.file_plan.BLOCK_BYTES = 4096
source, target = sys.argv[1:]
layout = Layout(Mesh.of(tp=2), {f"w{n}": TensorLayout((64, 64), (Shard(1, "tp"),)) for n in range(12)})
print("started", flush=True)
transform(source, target, layout=layout)
"""


def run(checkpoint: Path, target: Path, life_s: float | None) -> int:
    """Start the job as a process; kill it so many seconds after it started to work."""
    command = [sys.executable, "-c", PROGRAM, str(checkpoint), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if life_s is not None:
            time.sleep(life_s)
            process.send_signal(signal.SIGKILL)
    return process.returncode


def kill_at_random(checkpoint: Path, folder: Path, times: int) -> int:
    """Kill the job at random moments and finish it; returns how many kills left work to go on with."""
    generator, cut_short = random.Random(0), 0
    for number in range(times):
        target = folder / f"cut{number}"
        run(checkpoint, target, generator.uniform(0.0, 0.05))
        if target.exists():
            assert verify(target) == []
        cut_short += any(path.stat().st_size for partial in leftovers(folder) for path in partial.iterdir())
        assert run(checkpoint, target, None) == 0
        assert_right(checkpoint, target)
    return cut_short


def test_killed_at_a_few_moments_it_ends_right(checkpoint: Path, tmp_path: Path):
    kill_at_random(checkpoint, tmp_path, 3)


@pytest.mark.slow
def test_killed_at_fifty_moments_it_ends_right(checkpoint: Path, tmp_path: Path):
    assert kill_at_random(checkpoint, tmp_path, 50) > 10

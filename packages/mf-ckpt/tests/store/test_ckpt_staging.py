"""A save that is killed, at any point, leaves a complete checkpoint."""

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mf_ckpt import Writer, clean, latest, retire, verify
from mf_ckpt import open as open_checkpoint

SLOW_SAVE = """
import sys, time
import numpy as np
from mf_ckpt import Writer
with Writer(sys.argv[1], step=2) as writer:
    writer.add("w", np.zeros(100_000, np.float32))
    print("midway", flush=True)
    time.sleep(60)
"""


def save(place: Path, value: float, step: int) -> None:
    with Writer(place, step=step) as writer:
        writer.add("w", np.float32([value]))


def hidden(root: Path) -> list[str]:
    return [path.name for path in root.iterdir() if path.name.startswith(".")]


def die_at(call: int, work: Callable[[], None]) -> bool:
    """Whether a forked process that dies before its n-th fsync, rename or deletion lives through the work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    calls = 0

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def wrapper(*arguments: object, **options: object) -> object:
            nonlocal calls
            calls += 1
            if calls == call:
                os._exit(9)
            return function(*arguments, **options)

        return wrapper

    os.fsync = counted(os.fsync)
    os.rename = counted(os.rename)
    os.rmdir = counted(os.rmdir)
    os.unlink = counted(os.unlink)
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def test_killing_a_process_in_the_middle_of_a_save(tmp_path: Path):
    save(tmp_path / "step-00000001", 1.0, 1)
    command = [sys.executable, "-c", SLOW_SAVE, str(tmp_path / "step-00000002")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "midway\n"
        assert clean(tmp_path) == []
        assert len(hidden(tmp_path)) == 1
        process.send_signal(signal.SIGKILL)
    assert latest(tmp_path) == tmp_path / "step-00000001"
    assert len(clean(tmp_path)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]
    assert verify(tmp_path / "step-00000001") == []


def test_a_death_at_any_point_of_a_new_save_leaves_the_former_or_the_new(tmp_path: Path):
    for call in range(1, 50):
        root = tmp_path / str(call)
        save(root / "step-00000001", 1.0, 1)
        lived = die_at(call, lambda root=root: save(root / "step-00000002", 2.0, 2))
        assert latest(root) in (root / "step-00000001", root / "step-00000002")
        clean(root)
        assert hidden(root) == []
        found = latest(root)
        assert found is not None
        assert verify(found) == []
        if lived:
            assert found.name == "step-00000002"
            break
    assert 5 < call < 49


def test_a_death_at_any_point_of_a_replacement_leaves_the_former_or_the_new(tmp_path: Path):
    values = []
    for call in range(1, 50):
        root = tmp_path / str(call)
        place = root / "step-00000001"
        save(place, 1.0, 1)
        lived = die_at(call, lambda place=place: save(place, 2.0, 1))
        clean(root)
        assert hidden(root) == []
        assert latest(root) == place
        assert verify(place) == []
        values.append(open_checkpoint(place)["w"][0])
        if lived:
            break
    assert 5 < call < 49
    assert values == sorted(values)
    assert set(values) == {1.0, 2.0}


def test_a_death_at_any_point_of_a_deletion_leaves_only_whole_checkpoints(tmp_path: Path):
    for call in range(1, 50):
        root = tmp_path / str(call)
        for step in (1, 2):
            save(root / f"step-{step:08d}", step, step)
        lived = die_at(call, lambda root=root: retire(root, keep_last=1))
        clean(root)
        assert hidden(root) == []
        assert latest(root) == root / "step-00000002"
        assert all(verify(path) == [] for path in root.iterdir())
        if lived:
            break
    assert 3 < call < 49


def test_a_file_system_without_locks_still_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def unsupported(descriptor: int, operation: int) -> None:
        raise OSError("locks are not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    save(tmp_path / "step-00000001", 1.0, 1)
    (tmp_path / ".step-00000002.partial-1-00000000").mkdir()
    assert [path.name for path in clean(tmp_path)] == [".step-00000002.partial-1-00000000"]
    assert latest(tmp_path) == tmp_path / "step-00000001"

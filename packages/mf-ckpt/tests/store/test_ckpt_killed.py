"""A program that saves again and again is killed at random moments: what it had saved is always there, and whole."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mf_ckpt import checkpoints, clean, latest, verify
from mf_ckpt import open as open_checkpoint

PROGRAM = """
import itertools, sys
import numpy as np
from mf_ckpt import BackgroundSaver, Writer, retire, step_name
root, first = sys.argv[2], int(sys.argv[3])

def fill(target, step):
    for number in range(4):
        target.add(f"w{number}", np.full(100_000, step, np.float32))
    target.add_optimizer("w0.exp_avg", np.full(100_000, step, np.float32))
    target.add_json("trainer_state.json", {"step": step})

def finished(step):
    print(step, flush=True)
    retire(root, keep_last=2, keep_every=7)

def in_foreground():
    for step in itertools.count(first):
        with Writer(f"{root}/{step_name(step)}", step=step, shard_bytes=900_000) as writer:
            fill(writer, step)
        finished(step)

def in_background():
    with BackgroundSaver() as saver:
        for step in itertools.count(first):
            then = lambda _, step=step: finished(step)
            with saver.save(f"{root}/{step_name(step)}", step=step, shard_bytes=900_000, then=then) as snapshot:
                fill(snapshot, step)

{"foreground": in_foreground, "background": in_background}[sys.argv[1]]()
"""

LONGEST_LIFE_S = 0.15
"""After its first save; a save takes some 10 ms, so that the kill may come anywhere in it."""


def run_and_kill(mode: str, root: Path, first: int, life_s: float) -> int:
    """Start the program, kill it some time after its first save, and return the last step that it called saved."""
    command = [sys.executable, "-c", PROGRAM, mode, str(root), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reported = process.stdout.readline()
        time.sleep(life_s)
        process.send_signal(signal.SIGKILL)
        whole_lines = (reported + process.stdout.read()).rpartition("\n")[0]
    assert process.returncode == -signal.SIGKILL
    return int(whole_lines.rpartition("\n")[2])


def check_root(root: Path, reported: int) -> int:
    """Check all that is complete; returns the newest step."""
    newest = latest(root)
    assert newest is not None
    steps = []
    for path in checkpoints(root):
        assert verify(path) == []
        reader = open_checkpoint(path)
        assert reader.step is not None
        steps.append(reader.step)
        assert reader.trainer_state == {"step": reader.step}
        assert {float(array.min()) for array in [*reader.values(), *reader.optimizer.values()]} == {reader.step}
    assert steps[-1] >= reported
    assert set(range(7, steps[-1], 7)) <= set(steps)
    return steps[-1]


def kill_repeatedly(mode: str, root: Path, kills: int) -> None:
    chance = random.Random(f"{mode} {kills}")
    newest = 0
    for _ in range(kills):
        reported = run_and_kill(mode, root, newest + 1, chance.uniform(0, LONGEST_LIFE_S))
        newest = check_root(root, reported)
        clean(root)
        assert all(not path.name.startswith(".") for path in root.iterdir())
        newest = check_root(root, newest)


@pytest.mark.parametrize("mode", ["foreground", "background"])
def test_a_few_kills(mode: str, tmp_path: Path):
    kill_repeatedly(mode, tmp_path, kills=4)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["foreground", "background"])
def test_many_kills(mode: str, tmp_path: Path):
    kill_repeatedly(mode, tmp_path, kills=50)

"""Two machines share a run: this one, and a network namespace of Linux that is another one to its network."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import mf_ckpt
from mf_train.cli import main

pytestmark = [
    pytest.mark.slow,
    pytest.mark.multiproc,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("ip") is None, reason="only root can make a network, and needs iproute2"
    ),
]

TIMEOUT_S = 300
HERE, THERE = "10.77.8.1", "10.77.8.2"


@pytest.fixture
def there() -> Iterator[list[str]]:
    """Words before a command that runs it on the other machine."""
    space, ends = f"mf{os.getpid()}", [f"mf{os.getpid()}{end}" for end in "ab"]

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    ip("netns", "add", space)
    try:
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1], "netns", space)
        for own, end, address in ((), ends[0], HERE), (("-n", space), ends[1], THERE):
            ip(*own, "addr", "add", f"{address}/24", "dev", end)
            ip(*own, "link", "set", end, "up")
        ip("-n", space, "link", "set", "lo", "up")
        yield ["ip", "netns", "exec", space]
    finally:
        ip("netns", "del", space)


def start(before: list[str], run_file: Path, number: int, *words: str) -> subprocess.Popen[str]:
    """Half of a run on a machine."""
    command = [sys.executable, "-m", "mf_train", "run", str(run_file), "--workers", "2", "--local-workers", "1"]
    command += ["--master-address", HERE, "--node-rank", str(number), *words]
    return subprocess.Popen([*before, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_their_run_is_that_of_one_process(write_run: Callable[[Path], Path], tmp_path: Path, there: list[str]):
    one, two = (write_run(tmp_path / name) for name in ("one", "two"))
    assert main(["run", str(one)]) == 0
    words = ("--set", "runner_config.batch_size=2")
    machines = [start(before, two, number, *words) for number, before in enumerate(([], there))]
    said = [machine.communicate(timeout=TIMEOUT_S)[0] for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], said
    first, second = (mf_ckpt.open(mf_ckpt.latest(file.parent / "output" / "checkpoint")) for file in (one, two))
    assert set(first) == set(second)
    for name in first:
        np.testing.assert_allclose(second[name], first[name], atol=1e-4, err_msg=name)


def test_the_mistake_of_one_ends_both(write_run: Callable[[Path], Path], tmp_path: Path, there: list[str]):
    run_file = write_run(tmp_path / "run")
    only_there = ("--set", "load_checkpoint=/no/such/folder")
    machines = [start([], run_file, 0), start(there, run_file, 1, *only_there)]
    said = [machine.communicate(timeout=TIMEOUT_S)[0] for machine in machines]
    assert [machine.returncode for machine in machines] == [1, 2], said
    assert "load_checkpoint: no file or folder '/no/such/folder'" in said[1]

"""Several processes give the numbers of one; wrong combinations are refused before any is started."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mf_ckpt
from mf_train.cli import main

TIMEOUT_S = 180
START = [sys.executable, "-m", "mf_train", "run"]


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*START, *map(str, words)], capture_output=True, text=True, check=False, timeout=TIMEOUT_S)


@pytest.fixture
def two_files(write_run: Callable[[Path], Path], tmp_path: Path) -> tuple[Path, Path]:
    return write_run(tmp_path / "one"), write_run(tmp_path / "two")


@pytest.mark.multiproc
def test_two_processes_with_parts_of_the_batch_give_the_same_run(two_files: tuple[Path, Path]):
    one, two = two_files
    assert main(["run", str(one)]) == 0
    parts = ("runner_config.batch_size=1", "runner_config.gradient_accumulation_steps=2")
    done = run(two, "--workers", 2, *(word for setting in parts for word in ("--set", setting)), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["step"] == 12
    found, wanted = (lines_of(file.parent / "output" / "metrics.jsonl") for file in (two, one))
    assert [line["tokens"] for line in found] == [line["tokens"] for line in wanted]
    for name in ("loss", "grad_norm"):
        np.testing.assert_allclose([line[name] for line in found], [line[name] for line in wanted], rtol=2e-5)
    compare_tensors(one.parent / "output", two.parent / "output")
    evaluations = [lines_of(file.parent / "output" / "evaluations.jsonl")[-1] for file in (one, two)]
    assert evaluations[1] == pytest.approx(evaluations[0], rel=2e-5)
    logs = sorted(path.name for path in (two.parent / "output" / "log").glob("rank_*.log"))
    assert logs == ["rank_0.log", "rank_1.log"]


def compare_tensors(first: Path, second: Path) -> None:
    """Adam divides by the root of the second moment, so tiny differences of tiny gradients grow: absolute bounds."""
    one, two = (mf_ckpt.open(mf_ckpt.latest(output / "checkpoint")) for output in (first, second))
    assert set(one) == set(two)
    for name in one:
        np.testing.assert_allclose(two[name], one[name], atol=1e-4, err_msg=name)


@pytest.mark.multiproc
def test_signal_to_the_launcher_saves_and_ends_well(two_files: tuple[Path, Path]):
    run_file, alone = two_files
    words = [run_file, "--workers", 2, "--set", "runner_config.batch_size=2", "--set", "runner_config.epochs=2000"]
    launcher = subprocess.Popen([*START, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    metrics, deadline = run_file.parent / "output" / "metrics.jsonl", time.monotonic() + TIMEOUT_S
    while not metrics.exists() or not metrics.read_text():
        assert launcher.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(launcher.pid, signal.SIGTERM)
    said, _ = launcher.communicate(timeout=TIMEOUT_S)
    assert launcher.returncode == 0, said
    assert "stopped by a signal after" in said
    assert mf_ckpt.verify(mf_ckpt.latest(run_file.parent / "output" / "checkpoint")) == []
    assert main(["run", str(alone), "--set", "do_eval=False", "--stop-after", "1"]) == 0
    found, wanted = (lines_of(file.parent / "output" / "metrics.jsonl")[0] for file in two_files)
    assert [found[name] for name in ("loss", "grad_norm")] == pytest.approx(
        [wanted[name] for name in ("loss", "grad_norm")], rel=2e-5
    )


def worker_of_rank(rank: int, run_file: Path) -> int:
    """Process id of a worker; Linux keeps command line and environment of each process under /proc."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = ((folder / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if str(run_file).encode() in words and {b"MS_ROLE=MS_WORKER", f"RANK_ID={rank}".encode()} <= set(variables):
            return int(folder.name)
    raise AssertionError(f"no worker {rank}")


@pytest.mark.multiproc
def test_a_killed_worker_ends_the_run_at_once_and_nothing_is_lost(run_file: Path):
    """The steps behind the newest checkpoint are done again, and give the same bits."""
    settings = (
        "runner_config.batch_size=2",
        "runner_config.epochs=2000",
        "do_eval=False",
        "lr_schedule={type: ConstantWarmUpLR, learning_rate: 1.e-3, warmup_steps: 2}",
        "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 50}]",
    )
    words = [str(run_file), "--workers", "2", *(word for setting in settings for word in ("--set", setting))]
    launcher = subprocess.Popen([*START, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    metrics, deadline, steps = run_file.parent / "output" / "metrics.jsonl", time.monotonic() + TIMEOUT_S, 0
    # Some steps behind a checkpoint, and some before the next one.
    while steps < 50 or not 5 < steps % 50 < 25:
        assert launcher.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
        steps = metrics.read_text().count("\n") if metrics.exists() else 0
    os.kill(worker_of_rank(1, run_file), signal.SIGKILL)
    killed = time.monotonic()
    _, said = launcher.communicate(timeout=TIMEOUT_S)
    assert launcher.returncode == 1
    assert time.monotonic() - killed < 10
    assert "mf-train: rank 1 was ended by SIGKILL; all processes have been stopped." in said
    before = lines_of(metrics)
    newest = mf_ckpt.latest(run_file.parent / "output" / "checkpoint")
    assert newest is not None and mf_ckpt.verify(newest) == []
    done = int(newest.name.rpartition("-")[2])
    assert done >= 50 and done % 50 == 0 and done < len(before)
    resumed = run(*words, "--set", "resume_training=True", "--stop-after", len(before) - done)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    keys = ("step", "loss", "grad_norm")
    numbers = [[[line[key] for key in keys] for line in lines] for lines in (before, lines_of(metrics))]
    assert numbers[0] == numbers[1]


@pytest.mark.multiproc
def test_mistake_in_a_worker_is_told_once_with_status_2(run_file: Path):
    done = run(run_file, "--workers", 2, "--set", "load_checkpoint=/no/such/folder")
    assert done.returncode == 2, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("load_checkpoint: no file or folder '/no/such/folder'") == 1
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(("degree", "workers"), [(2, 3), (4, 2)])
def test_wrong_number_of_workers_is_refused_at_once(run_file: Path, tmp_path: Path, degree: int, workers: int):
    done = run(run_file, "--workers", workers, "--set", f"parallel_config.data_parallel={degree}")
    assert done.returncode == 2
    assert done.stderr == (
        f"command line:--set: parallel_config.data_parallel: {degree}, but {workers} processes are started. "
        f"Allowed: --workers {degree}, or data_parallel: {workers} (1 stands for all processes).\n"
    )
    assert not (tmp_path / "output").exists()

"""What the launcher does when a process fails, dies or is interrupted; the processes run no MindSpore."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mf_config.command_line import FAILURE
from mf_train.cli import main
from mf_train.launch.launcher import launch
from mf_train.records.output import OutputFolder

pytestmark = pytest.mark.multiproc

SOON_S = 10
"""Of the end of all processes after that of one, at most; before it msrun starts."""

TIMEOUT_S = 90

PROGRAM = """\
import os, signal, subprocess, sys, time
rank, folder = os.environ["RANK_ID"], sys.argv[1]
if os.environ["MS_ROLE"] == "MS_WORKER":
    open(f"{folder}/begun-{rank}", "w").close()
    print("rank", rank, "says", flush=True)
    if sys.argv[2] == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while rank == "1" and not os.path.exists(f"{folder}/begun-0"):
        time.sleep(0.1)
    if rank == "1" and sys.argv[2] != "stubborn":
        time.sleep(1)
        open(f"{folder}/ended", "w").write(str(time.time()))
        if sys.argv[2] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("this rank fails")
time.sleep(300)
"""


def command_lines_with(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if text in line:
            found.append(line)
    return found


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize(("how", "wanted"), [("raises", "ended with status 1"), ("killed", "was ended by SIGKILL")])
def test_the_end_of_one_process_ends_all_and_is_told(program: Path, capfd, how: str, wanted: str):
    folder = program.parent
    status = launch([str(program), str(folder), how], 2, OutputFolder(folder))
    assert time.time() - float((folder / "ended").read_text()) < SOON_S
    assert status == FAILURE
    shown = capfd.readouterr()
    assert "rank 0 says" in shown.out
    last = shown.err.splitlines()[-1]
    assert last == f"mf-train: rank 1 {wanted}; all processes have been stopped. See {folder}/log/worker_1.log."
    assert shown.err.count("ValueError: this rank fails") == (how == "raises")
    assert command_lines_with(str(program)) == []


def test_ctrl_c_twice_leaves_no_process(program: Path):
    folder = program.parent
    words = [str(program), str(folder), "stubborn"]
    code = "from pathlib import Path\nfrom mf_train.launch.launcher import launch\n"
    code += (
        f"from mf_train.records.output import OutputFolder\nlaunch({words!r}, 2, OutputFolder(Path({str(folder)!r})))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as launcher:
        deadline = time.monotonic() + TIMEOUT_S
        while not all((folder / f"begun-{rank}").exists() for rank in range(2)):
            assert launcher.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        for _ in range(2):
            time.sleep(1)
            os.kill(launcher.pid, signal.SIGINT)
        assert launcher.wait(TIMEOUT_S) != 0
    assert command_lines_with(str(program)) == []


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--node-rank", "1"], "on several machines --local-workers and --master-address must be given too"),
        (["--local-workers", "3", "--node-rank", "0", "--master-address", "a"], "4 workers, of which 3 on each"),
        (["--local-workers", "2", "--node-rank", "2", "--master-address", "a"], "machine 2 of 2. Allowed: 0 to 1"),
    ],
)
def test_machines_that_make_no_job_are_refused(run_file: Path, capsys, words: list[str], wanted: str):
    assert main(["run", str(run_file), "--workers", "4", *words]) == 2
    assert wanted in capsys.readouterr().err
    assert not (run_file.parent / "output").exists()

"""A failing or endless rank ends the run, and no process outlives it."""

import time
from pathlib import Path

import pytest

from mf_parallel.testing import run_processes

pytestmark = pytest.mark.multiproc

PROGRAM = Path(__file__).parent / "programs" / "one_rank_fails.py"


def processes_that_mention(text: str) -> list[str]:
    """Command lines of all processes that hold a text."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if text in line:
                found.append(line)
    return found


def test_the_first_traceback_is_reported_and_all_processes_end(tmp_path):
    pytest.importorskip("mindspore")
    program = tmp_path / "one_rank_fails.py"
    program.write_text(PROGRAM.read_text())
    begin = time.monotonic()
    result = run_processes([str(program)], workers=2, directory=tmp_path, timeout_s=60)
    assert time.monotonic() - begin < 60
    assert result.exit_status == 1
    assert result.first_traceback.splitlines()[-1] == "ValueError: this rank fails"
    assert result.first_traceback.startswith("Traceback")
    assert "rank 0 of 2" in result.outputs[0]
    assert "rank 1 of 2" in result.outputs[1]
    assert processes_that_mention(str(tmp_path)) == []


def test_the_timeout_ends_all_processes(tmp_path):
    pytest.importorskip("mindspore")
    program = tmp_path / "endless.py"
    program.write_text("import time\nprint('begun', flush=True)\ntime.sleep(300)\n")
    result = run_processes([str(program)], workers=2, directory=tmp_path, timeout_s=5)
    assert result.exit_status is None
    assert processes_that_mention(str(tmp_path)) == []

"""Where a run writes, and how an earlier run's files make room."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

import mf_ckpt
from mf_config import UserError
from mf_train.records.output import OutputFolder


def save(output: OutputFolder, *steps: int) -> None:
    for step in steps:
        with mf_ckpt.Writer(output.checkpoints / mf_ckpt.step_name(step), step=step) as writer:
            writer.add("w", np.zeros(1, np.float32))


def names(output: OutputFolder) -> list[str]:
    return [path.name for path in mf_ckpt.checkpoints(output.checkpoints)]


def test_new_run_moves_everything_of_the_run_before(tmp_path: Path):
    output = OutputFolder(tmp_path)
    save(output, 4, 8)
    output.metrics.write_text("{}\n")
    folder = output.set_aside(0)
    assert folder == tmp_path / "earlier-1"
    assert names(output) == []
    assert names(OutputFolder(folder)) == ["step-00000004", "step-00000008"]
    assert (folder / "metrics.jsonl").read_text() == "{}\n"
    assert not output.metrics.exists()


def test_resumed_run_moves_only_later_checkpoints(tmp_path: Path):
    output = OutputFolder(tmp_path)
    save(output, 4, 8)
    output.metrics.write_text("{}\n")
    (tmp_path / "earlier-1").mkdir()
    folder = output.set_aside(4)
    assert folder == tmp_path / "earlier-2"
    assert names(output) == ["step-00000004"]
    assert names(OutputFolder(folder)) == ["step-00000008"]
    assert output.metrics.exists()


def test_nothing_to_move_makes_no_folder(tmp_path: Path):
    output = OutputFolder(tmp_path)
    save(output, 4)
    assert output.set_aside(4) is None
    assert OutputFolder(tmp_path / "new").set_aside(0) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint"]


def test_logs_are_numbered_by_rank(tmp_path: Path):
    assert OutputFolder(tmp_path).log(3) == tmp_path / "log" / "rank_3.log"


def test_a_place_where_nothing_can_be_written_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    output = OutputFolder(tmp_path / "output")
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    with pytest.raises(UserError, match=r"output_dir: .*output can't be written to: Permission denied\. Allowed: a fo"):
        output.make()

    def refuse(number: int) -> None:
        def mkdir(self: Path, **_: object) -> None:
            raise OSError(number, os.strerror(number), str(self))

        monkeypatch.setattr(Path, "mkdir", mkdir)

    refuse(errno.EROFS)
    with pytest.raises(UserError, match="output can't be written to: Read-only file system"):
        output.make()
    # Not a mistake of the user: it may be otherwise in a minute.
    refuse(errno.ENOSPC)
    with pytest.raises(OSError, match="No space left on device"):
        output.make()

"""Uploads of a run's folder: where to, when, and what a failure does."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mf_ckpt
from mf_ckpt.mirror import Mirror
from mf_config import ConfigError, UserError
from mf_train.callback import Callback, RunInfo, StepInfo
from mf_train.callbacks import obs_monitor
from mf_train.callbacks.obs_monitor import ObsMonitor
from mf_train.cli import main
from mf_train.records.output import OutputFolder

pytest.importorskip("fsspec")

PLACEHOLDER = "Please input obs url on AICC platform."


class AtOnce:
    """Does in the same thread what it is given to do."""

    def __init__(self, workers: int, name: str):
        assert workers == 1

    def submit(self, work: Callable[[], None]) -> "Future[None]":
        future: Future[None] = Future()
        try:
            future.set_result(work())
        except OSError as error:
            future.set_exception(error)
        return future

    def shutdown(self) -> None:
        pass


@pytest.fixture
def run(tmp_path: Path) -> RunInfo:
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "metrics.jsonl").write_text("{}")
    return RunInfo(
        output=OutputFolder(tmp_path / "output"),
        first_step=0,
        total_steps=10,
        total_epochs=2,
        is_main=True,
        save=lambda keep, in_background: None,
        stop=lambda reason: None,
        agree=bool,
        can_save_alone=lambda: True,
        evaluate=None,
        own_part=lambda: pytest.fail("nobody asked for it"),
    )


def step_info(step: int) -> StepInfo:
    return StepInfo(
        step=step,
        total_steps=10,
        epoch=1,
        loss=1 / step,
        lr=0.5,
        grad_norm=2.0,
        tokens=100,
        tokens_per_second=50.0,
        loss_scale=4.0,
        overflow=False,
        seconds=0.25,
        seconds_left=1.0,
    )


def do_steps(callback: Callback, steps: range) -> None:
    callback.on_train_begin()
    for step in steps:
        callback.on_step_end(step_info(step))
    callback.on_train_end()
    callback.close()
    callback.on_files_complete()


@pytest.mark.parametrize("text", ["", ", target_dir: Please fill this in"])
@pytest.mark.parametrize("url", [None, "", PLACEHOLDER])
def test_without_an_address_nothing_is_done(section_of, run: RunInfo, caplog, monkeypatch, text: str, url: str | None):
    monkeypatch.setattr(logging.getLogger("mf_train"), "propagate", True)
    with caplog.at_level(logging.INFO, logger="mf_train"):
        callback = section_of("callback", f"{{type: ObsMonitor{text}}}").build(replace(run, remote_save_url=url))
    assert type(callback) is Callback
    # Loggers that earlier tests configured may hand it over more than once.
    assert {record.getMessage() for record in caplog.records} == {
        "ObsMonitor: neither target_dir nor remote_save_url is an address, so nothing is uploaded"
    }


@pytest.mark.parametrize(
    ("target", "wanted"), [(None, "second"), (PLACEHOLDER, "second"), ("file://{}/first", "first")]
)
def test_the_address_of_its_own_comes_first(run: RunInfo, tmp_path: Path, target: str | None, wanted: str):
    section = ObsMonitor(target_dir=target and target.format(tmp_path))
    do_steps(section.build(replace(run, remote_save_url=f"file://{tmp_path}/second")), range(1, 3))
    assert [path.name for path in tmp_path.glob("*/metrics.jsonl") if path.parent.name != "output"] == ["metrics.jsonl"]
    assert (tmp_path / wanted / "metrics.jsonl").exists()


def test_an_address_that_nothing_reaches_is_named(run: RunInfo):
    with pytest.raises(UserError, match=r"^callbacks: ObsMonitor\.target_dir: no-such-store://bucket: "):
        ObsMonitor(target_dir="no-such-store://bucket").build(run)
    with pytest.raises(UserError, match=r"^remote_save_url: no-such-store://bucket: "):
        ObsMonitor().build(replace(run, remote_save_url="no-such-store://bucket"))


def test_the_source_is_a_plain_folder(section_of):
    message = r"section\.yaml:2: section\.src_dir: s3://a is an address\. Allowed: a folder on this machine"
    with pytest.raises(ConfigError, match=message):
        section_of("callback", "{type: ObsMonitor, src_dir: 's3://a'}")


def test_only_the_main_process_uploads(run: RunInfo, tmp_path: Path):
    section = ObsMonitor(target_dir=f"file://{tmp_path}/copy")
    assert type(section.build(replace(run, is_main=False))) is Callback


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("step_upload_frequence: 4", [4, 8, "end"]),
        ("step_upload_frequence: -1, epoch_upload_frequence: 1", [5, 10, "end"]),
        ("step_upload_frequence: 6, epoch_upload_frequence: 2", [6, 10, "end"]),
        ("step_upload_frequence: -1", ["end"]),
        ("step_upload_frequence: 0", ["end"]),
    ],
)
def test_uploads_come_at_intervals_and_at_the_end(
    section_of, run: RunInfo, monkeypatch: pytest.MonkeyPatch, text: str, steps: list[Any]
):
    """Of ten steps in two epochs."""
    now: list[Any] = [0]
    uploaded = []
    monkeypatch.setattr(obs_monitor, "ThreadPoolExecutor", AtOnce)
    monkeypatch.setattr(Mirror, "update", lambda self: uploaded.append(now[0]))
    section = section_of("callback", f"{{type: ObsMonitor, target_dir: 'memory://bucket/run', {text}}}")
    callback = section.build(run)
    callback.on_train_begin()
    for now[0] in range(1, 11):
        callback.on_step_end(step_info(now[0]))
    now[0] = "end"
    callback.on_train_end()
    callback.close()
    callback.on_files_complete()
    assert uploaded == steps


def test_an_evaluation_uploads_nothing(run: RunInfo, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Mirror, "update", lambda self: pytest.fail("nothing is to be uploaded"))
    callback = ObsMonitor(target_dir="memory://bucket/run").build(replace(run, total_steps=0, total_epochs=0))
    callback.close()
    callback.on_files_complete()


def test_steps_do_not_wait_for_an_upload(run: RunInfo, monkeypatch: pytest.MonkeyPatch):
    """The first upload goes on until all steps are done; those that are due meanwhile are left to the last one."""
    done, may_end = [], threading.Event()

    def upload(self: Mirror) -> None:
        assert may_end.wait(60)
        done.append(threading.current_thread() is threading.main_thread())

    monkeypatch.setattr(Mirror, "update", upload)
    callback = ObsMonitor(target_dir="memory://bucket/run", step_upload_frequence=1).build(run)
    callback.on_train_begin()
    for step in range(1, 5):
        callback.on_step_end(step_info(step))
    assert done == []
    may_end.set()
    callback.on_files_complete()
    assert done == [False, False]


@pytest.mark.parametrize("error", [ConnectionError("the line is down"), RuntimeError("no credentials")])
def test_a_failure_is_logged_and_ends_no_run(
    run: RunInfo, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    def fail(self: Mirror) -> None:
        raise error

    monkeypatch.setattr(logging.getLogger("mf_train"), "propagate", True)
    monkeypatch.setattr(Mirror, "update", fail)
    do_steps(ObsMonitor(target_dir="memory://bucket/run", step_upload_frequence=2).build(run), range(1, 4))
    assert f"ObsMonitor: not everything is uploaded: {error}" in caplog.text


def files(folder: Path) -> dict[str, bytes]:
    """Of checkpoints the manifests."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in paths
        if not path.relative_to(folder).as_posix().startswith(("checkpoint", "step", "earlier"))
    }


def test_a_run_and_its_resumption_are_uploaded(run_file: Path, tmp_path: Path):
    """Checkpoints are saved in the background, and the last one is complete after the last callback is closed."""
    output, copy = tmp_path / "output", tmp_path / "copy"
    (output / "checkpoint").mkdir(parents=True)
    (output / "metrics.jsonl").write_text('{"step": 1}\n')
    callbacks = (
        f"[{{type: ObsMonitor, target_dir: 'file://{copy}', step_upload_frequence: 2}}, "
        "{type: CheckpointMonitor, save_checkpoint_steps: 4, async_save: True, keep_checkpoint_max: 1}]"
    )
    words = ["run", str(run_file), "--set", f"callbacks={callbacks}", "--set", "do_eval=False"]
    for number, further in enumerate((["--stop-after", "6"], ["--set", "resume_training=True"])):
        assert main([*words, *further]) == 0
        newest = mf_ckpt.latest(output / "checkpoint")
        assert newest is not None and newest.name == ("step-00000006", "step-00000012")[number]
        assert [path.name for path in mf_ckpt.checkpoints(copy)] == [newest.name]
        assert mf_ckpt.verify(copy / newest.name) == []
        assert not list(copy.glob("earlier*"))
        here, there = files(output), files(copy)
        # The log goes on after the upload.
        assert here.pop("log/rank_0.log").startswith(there.pop("log/rank_0.log"))
        assert there == here
        assert {"metrics.jsonl", "report.html", "config.resolved.yaml"} < set(here)

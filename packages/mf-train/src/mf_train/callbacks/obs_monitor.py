"""Copies of a run's folder in an object store."""

import glob
import logging
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from mf_ckpt import remote
from mf_ckpt.mirror import Mirror
from mf_config.schema import component, key
from mf_train.callback import Callback, RunInfo, StepInfo
from mf_train.records.output import EARLIER_RUNS

_log = logging.getLogger(__name__)


@component("callback", "ObsMonitor")
@dataclass(frozen=True, slots=True, kw_only=True)
class ObsMonitor:
    """Copy checkpoints, logs and records to an object store while the run goes on, and once more at its end.

    Any store will do that fsspec knows, with credentials from fsspec's own configuration.
    """

    src_dir: str | None = key("Folder to upload; output_dir where absent.", None)
    target_dir: str | None = key(
        "Folder in an object store, such as s3://bucket/run; remote_save_url where absent or no address. Where neither "
        "is one, nothing is uploaded.",
        None,
    )
    step_upload_frequence: int = key(
        "Steps from one upload to the next; 0 or less for none.", 100, minimum=-1, unit="steps"
    )
    epoch_upload_frequence: int = key(
        "Epochs from one upload to the next; 0 or less for none.", -1, minimum=-1, unit="epochs"
    )
    keep_last: bool = key(
        "Keep only the newest of this run's checkpoints in the object store; older ones are deleted there once a newer "
        "one is complete.",
        True,
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What is wrong: key name, what, what is allowed."""
        if self.src_dir is not None and "://" in self.src_dir:
            yield "src_dir", f"{self.src_dir} is an address", "a folder on this machine; target_dir takes the address"

    def build(self, run: RunInfo) -> Callback:
        """See `mf_train.callback.CallbackSection.build`.

        Raises:
            UserError: nothing that is installed can reach the address.
        """
        if not run.is_main:
            return Callback()
        named = (("callbacks: ObsMonitor.target_dir", self.target_dir), ("remote_save_url", run.remote_save_url))
        address = next(((name, text) for name, text in named if text and "://" in text), None)
        if address is None:
            _log.info("ObsMonitor: neither target_dir nor remote_save_url is an address, so nothing is uploaded")
            return Callback()
        name, url = address
        remote.check_url(url, name)
        return _Uploader(self, run, url)


class _Uploader(Callback):
    """Uploads in a thread of its own, one upload at a time; what is due meanwhile waits for the next one."""

    def __init__(self, section: ObsMonitor, run: RunInfo, url: str):
        self._section = section
        self._run = run
        self._url = url
        epoch = section.epoch_upload_frequence * run.total_steps // max(run.total_epochs, 1)
        self._intervals = [interval for interval in (section.step_upload_frequence, epoch) if interval > 0]
        self._pool = ThreadPoolExecutor(1, "mf-train-upload")
        self._mirror: Mirror | None = None
        self._upload: Future[None] | None = None

    def on_train_begin(self) -> None:
        """Look at what is there, now that the files of former runs are set aside."""
        section, output = self._section, self._run.output
        self._mirror = Mirror(
            section.src_dir or output.root,
            self._url,
            checkpoints=output.checkpoints,
            keep_last=section.keep_last,
            leave_out=(f"{glob.escape(str(output.root.resolve()))}/{EARLIER_RUNS}",),
        )

    def on_step_end(self, info: StepInfo) -> None:
        """Begin an upload where the step has come, and none is under way."""
        is_due = any(info.step % interval == 0 for interval in self._intervals)
        if is_due and (self._upload is None or self._upload.done()):
            self._begin()

    def on_files_complete(self) -> None:
        """Upload what is left, and wait for it."""
        if self._mirror is not None:
            self._begin()
        self._pool.shutdown()

    def _begin(self) -> None:
        assert self._mirror is not None, "an upload needs on_train_begin"
        self._upload = self._pool.submit(self._mirror.update)
        self._upload.add_done_callback(_report)


def _report(upload: "Future[None]") -> None:
    """Log a failure at once, of whatever kind: stores raise errors of their own. A run must not end by it."""
    error = upload.exception()
    if error is not None:
        _log.error("ObsMonitor: not everything is uploaded: %s", error)

"""What the commands share: paths opened, results on standard output, progress on standard error."""

import json
import sys
import time
from pathlib import Path

from mf_ckpt.cli.texts import size_text
from mf_ckpt.disk.files import JsonObject
from mf_ckpt.lora.peft import is_adapter
from mf_ckpt.reading.reader import Reader, open_checkpoint
from mf_ckpt.store.run_folder import find

_SECONDS_BETWEEN = {True: 0.1, False: 10.0}
"""Least time between two reports, by whether a person watches a terminal or a log is filled."""


class ProgressLine:
    """Reports how far a transform is on standard error: one line that changes on a terminal, few lines in a log."""

    def __init__(self) -> None:
        """Starts the clock."""
        self._terminal = sys.stderr.isatty()
        self._started = time.monotonic()
        self._reported = self._started
        self._first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        """Report, unless that happened a moment ago.

        Args:
            done: bytes done.
            total: bytes in all.
        """
        now = time.monotonic()
        # What an interrupted job left doesn't count as speed.
        self._first = done if self._first is None else self._first
        finished = done == total and self._terminal
        if not finished and now - self._reported < _SECONDS_BETWEEN[self._terminal]:
            return
        self._reported = now
        rate = (done - self._first) / max(now - self._started, 1e-9)
        left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
        percent = 100 * done // max(total, 1)
        text = f"{percent:3d} %  {size_text(done)} of {size_text(total)}, {size_text(int(rate))}/s{left}"
        end = "\n" if finished or not self._terminal else ""
        sys.stderr.write(f"\r{text:<70}{end}" if self._terminal else f"{text}\n")
        sys.stderr.flush()


def print_json(data: JsonObject) -> None:
    """Print a result as JSON."""
    print_text(json.dumps(data, indent=2))


def print_text(text: str) -> None:
    """Print a result for a person."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Tell a person something that is no result."""
    sys.stderr.write(text + "\n")


def note_adapter(reader: Reader) -> None:
    """Tell a person where an adapter lies beside the weights: it is left behind."""
    if is_adapter(reader.path):
        note(f"{reader.path}: the LoRA adapter there is left out; mf-ckpt merge-lora merges it into its base")


def open_path(path: str, strategy: str | None = None) -> Reader:
    """The checkpoint that a path on the command line means.

    Args:
        path: the path.
        strategy: what `--strategy` says.
    """
    return open_checkpoint(find(path), strategy)


def print_written(destination: Path, seconds: float, as_json: bool) -> None:
    """Say what a command wrote.

    Args:
        destination: the file or folder.
        seconds: how long it took.
        as_json: whether as JSON.
    """
    reader = open_checkpoint(destination)
    sources = (reader.weights, reader.optimizer)
    count = sum(len(source) for source in sources)
    nbytes = sum(source.info(name).nbytes for source in sources for name in source)
    if as_json:
        print_json({"path": str(destination), "tensors": count, "bytes": nbytes, "seconds": round(seconds, 3)})
    else:
        print_text(f"{destination}: {count:,} tensors, {size_text(nbytes)}, written in {seconds:.1f} s")

"""Saves checkpoints in the background: what is to be saved is copied, and written while the program goes on.

One save is under way at a time. The next one waits for it before anything is copied, so that there is one copy in
memory at most, and a disk that is slower than the saves slows the program down in place of filling its memory.
"""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from mf_ckpt.disk.files import json_bytes
from mf_ckpt.dtypes import Array, encode
from mf_ckpt.store.staging import check_place
from mf_ckpt.store.writer import SHARD_BYTES, Writer, check_file_name, check_tensor_name

_log = logging.getLogger(__name__)


class Snapshot:
    """A copy in memory of what one checkpoint is to hold; it is filled as a `Writer` is.

    What was added may change right afterwards. `BackgroundSaver.save` makes it.
    """

    def __init__(self, former: "Snapshot | None" = None):
        """Takes a snapshot that isn't needed any more, to reuse its memory: new memory costs more than the copy."""
        self._weights: _Copies = _Copies(former._weights if former else None)
        self._optimizer: _Copies = _Copies(former._optimizer if former else None)
        self._files: dict[str, bytes] = {}

    def add(self, name: str, array: Array, dtype: str | None = None) -> None:
        """Copy one weight; arguments and errors as for `Writer.add`."""
        self._weights.add(name, array, dtype)

    def add_optimizer(self, name: str, array: Array, dtype: str | None = None) -> None:
        """Copy one tensor of the optimizer's state; arguments and errors as for `Writer.add`."""
        self._optimizer.add(name, array, dtype)

    def add_json(self, name: str, data: object) -> None:
        """Take a JSON document as it is now; arguments and errors as for `Writer.add_json`."""
        self.add_file(name, json_bytes(data))

    def add_file(self, name: str, content: bytes | Path) -> None:
        """Take a file as it is now; arguments and errors as for `Writer.add_file`."""
        check_file_name(name)
        if name in self._files:
            raise FileExistsError(f"{name!r} was added before")
        self._files[name] = content if isinstance(content, bytes) else content.read_bytes()

    def write_to(self, writer: Writer) -> None:
        """Add everything to a writer, in the order in which it was added here."""
        for name, (dtype, bits) in self._weights.taken.items():
            writer.add(name, bits, dtype)
        for name, (dtype, bits) in self._optimizer.taken.items():
            writer.add_optimizer(name, bits, dtype)
        for name, content in self._files.items():
            writer.add_file(name, content)


class _Copies:
    """Copied tensors: name to element type and bits."""

    def __init__(self, former: "_Copies | None"):
        self.taken: dict[str, tuple[str, Array]] = {}
        self._spare = former.taken if former else {}

    def add(self, name: str, array: Array, dtype: str | None) -> None:
        check_tensor_name(name, self.taken)
        source = np.asarray(array)
        stored, bits = encode(source, dtype)
        # Taken out at once, so that memory which doesn't fit is free before more is asked for.
        _, spare = self._spare.pop(name, (stored, None))
        if np.may_share_memory(bits, source):
            bits = _copied(bits, spare)
        self.taken[name] = stored, bits


def _copied(bits: Array, spare: Array | None) -> Array:
    if spare is None or spare.shape != bits.shape or spare.dtype != bits.dtype:
        return bits.copy()
    np.copyto(spare, bits)
    return spare


class BackgroundSaver:
    """Saves checkpoints one after another in a thread of its own; use it as a context manager.

    A save that fails is logged when it fails, and its exception is raised by the next call of `save`, `wait` or
    `close`. A program that ends without `close` still finishes the save under way and logs a failure, but its exit
    status doesn't tell, and by that time `then` can't start threads. From the first save until `close`, the memory of
    one copy of all tensors is held. All calls come from one thread.

    Example:
        with BackgroundSaver() as saver:
            for step in steps:
                train(step)
                with saver.save(root / step_name(step), step=step, then=lambda _: retire(root, 3)) as snapshot:
                    for name, array in weights():
                        snapshot.add(name, array)
    """

    def __init__(self) -> None:
        """Starts nothing yet."""
        # Its threads are joined when the interpreter ends; nothing that a save does starts further ones.
        self._pool = ThreadPoolExecutor(1, "mf-ckpt-save")
        self._writing: Future[None] | None = None
        self._former: Snapshot | None = None

    def __enter__(self) -> "BackgroundSaver":
        """The saver itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Finish the save under way; its own failure is raised only where no other exception is on its way."""
        try:
            if kind is None:
                self.wait()
        finally:
            self._pool.shutdown()
            self._former = None

    @contextmanager
    def save(
        self,
        directory: str | Path,
        *,
        step: int | None = None,
        shard_bytes: int = SHARD_BYTES,
        then: Callable[[Path], object] | None = None,
    ) -> Iterator[Snapshot]:
        """Wait for the save before this one, take a copy, and write it after the end of the context.

        Args:
            directory: where the checkpoint goes, as for `Writer`.
            step: optimizer updates done; None where the checkpoint doesn't come from training.
            shard_bytes: most bytes of tensor data in one file.
            then: called in the background with the checkpoint's folder once it is complete, for instance to retire
                older ones or to upload it.

        Yields:
            The snapshot to fill. After an exception in the context nothing is saved.

        Raises:
            CheckpointError: something that is not a checkpoint is in `directory`.
            Exception: what the save before this one failed with.
        """
        self.wait()
        place = Path(directory)
        check_place(place)
        snapshot, self._former = Snapshot(self._former), None
        yield snapshot
        self._former = snapshot
        writer = Writer(place, step=step, shard_bytes=shard_bytes)
        self._writing = self._pool.submit(_write, snapshot, writer, place, then)

    def wait(self) -> None:
        """Wait until the save under way is complete, its `then` included; raises what it failed with."""
        if self._writing is not None:
            error = self._writing.exception()
            self._writing = None
            if error is not None:
                raise error

    def close(self) -> None:
        """Wait as `wait` does, and free thread and memory; nothing can be saved afterwards."""
        self.__exit__(None)


def _write(snapshot: Snapshot, unopened: Writer, place: Path, then: Callable[[Path], object] | None) -> None:
    with ExitStack() as stack:
        stack.push(partial(_report, place))
        with unopened as writer:
            snapshot.write_to(writer)
        if then is not None:
            then(place)


def _report(place: Path, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
    """Log a failure at once: the program may never ask for it."""
    if error is not None:
        error.add_note(f"This happened while {place} was being saved in the background.")
        _log.error("saving %s in the background failed", place, exc_info=error)

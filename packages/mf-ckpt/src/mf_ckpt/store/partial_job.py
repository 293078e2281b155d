"""A checkpoint that is being made and can be gone on with after an interruption.

The work lies beside its target in a hidden folder, `.NAME.resumable-KEY`. The key comes from everything that decides
what is written, so a different job never takes it for its own. A journal beside the files says which blocks were
written, with their checksums; a block counts only if its bytes still have its checksum.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from types import TracebackType

from xxhash import xxh3_128_hexdigest

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.store.file_plan import Block, PlannedFile
from mf_ckpt.store.fingerprints import NewFile
from mf_config.problems import UserError

_JOURNAL = ".journal"
_FOLDER_NAME = re.compile(r"\..+\.resumable-[0-9a-f]{32}\Z")


def is_partial_job(folder: Path) -> bool:
    """Whether a folder's name says that it is an unfinished job."""
    return _FOLDER_NAME.match(folder.name) is not None


@contextmanager
def partial_job(place: Path, description: str) -> Iterator["PartialJob"]:
    """The unfinished job for a target, taken up again where there is one.

    It is left for another try after an exception, unless that is a user's mistake.

    Args:
        place: where the checkpoint goes; folders above it are made.
        description: everything that decides what is written.

    Yields:
        The job; the caller moves its folder away when it is done.

    Raises:
        CheckpointError: another process is working on the same job.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = place.with_name(f".{place.name}.resumable-{xxh3_128_hexdigest(description.encode())}")
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(_locked(folder))
        except BlockingIOError:
            raise CheckpointError(place, "is being written by another process") from None
        try:
            yield stack.enter_context(PartialJob(folder))
        except UserError:
            # Another try with the same input would fail in the same way.
            shutil.rmtree(folder, ignore_errors=True)
            raise


def discard_jobs(place: Path) -> None:
    """Delete unfinished jobs for a target that has been written now; those that are under way are left alone."""
    for folder in place.parent.iterdir():
        ours = is_partial_job(folder) and folder.name.rpartition(".resumable-")[0] == f".{place.name}"
        if ours and folder.is_dir() and not folder.is_symlink():
            with suppress(BlockingIOError), _locked(folder):
                shutil.rmtree(folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; raises `BlockingIOError` where another process has it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


class PartialJob:
    """The files written so far, and the journal of their blocks."""

    def __init__(self, folder: Path):
        """Takes the folder."""
        self.folder = folder
        self._checksums = _read_journal(folder / _JOURNAL)
        self._journal = (folder / _JOURNAL).open("ab", buffering=0)

    def __enter__(self) -> "PartialJob":
        """The job itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the journal."""
        self._journal.close()

    def sound_bytes(self, file: PlannedFile) -> int:
        """The length of the start of a file whose blocks were all recorded, and are as they were written."""
        path = self.folder / file.name
        reached = 0
        with path.open("rb") if path.is_file() else BytesIO() as content:
            for block in file.blocks():
                expected = self._checksums.get((block.file, block.begin, block.nbytes))
                if expected is None or xxh3_128_hexdigest(content.read(block.nbytes)) != expected:
                    break
                reached += block.nbytes
        return reached

    def open(self, file: PlannedFile, kept_bytes: int) -> NewFile:
        """A file to write to, after the bytes of it that are kept."""
        path = self.folder / file.name
        if not kept_bytes:
            path.unlink(missing_ok=True)
        return NewFile(path, kept_bytes=kept_bytes)

    def record(self, block: Block, checksum: str) -> None:
        """Note that a block was written."""
        self._journal.write((json.dumps([block.file, block.begin, block.nbytes, checksum]) + "\n").encode())

    def finish(self) -> None:
        """Remove the journal: the folder holds nothing but the checkpoint's files then."""
        self._journal.close()
        (self.folder / _JOURNAL).unlink()


def _read_journal(path: Path) -> dict[tuple[str, int, int], str]:
    """The recorded blocks; a line that a crash cut short is left out."""
    found = {}
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            file, begin, nbytes, checksum = json.loads(line)
        except ValueError:
            continue
        found[(file, begin, nbytes)] = checksum
    return found

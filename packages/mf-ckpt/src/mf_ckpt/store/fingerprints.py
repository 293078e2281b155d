"""Sizes and checksums of files: computed while a file is written, and once more when a checkpoint is verified.

The checksum is XXH3 with 128 bits: it finds damage at the speed of memory. It is no proof against a forger.
"""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_128

ALGORITHM = "xxh3_128"

_PIECE_BYTES = 262_144
"""Hashed and then written: small enough to be in the processor's cache still when the kernel copies it."""

_WRITEBACK_BYTES = 8_388_608
"""The kernel is asked to start writing to the disk after each so many bytes, so that little is left for the fsync."""

_READING_THREADS = 4
"""Beyond this the disk is the limit, not the hash."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a file must be like.

    Attributes:
        size: its length in bytes.
        checksum: XXH3, 128 bits, in hexadecimal.
        start: the byte at which the checksum starts; it goes on to the end of the file and then over what comes before
            `start`. 0 but for files whose head is written last.
    """

    size: int
    checksum: str
    start: int = 0


class NewFile:
    """A file that is being written: hashed on the way, and on the disk when it is finished.

    As a context manager it closes, unfinished, where an exception comes first.
    """

    def __init__(self, path: Path, head_bytes: int = 0, kept_bytes: int = 0):
        """Makes the file, or goes on with the start of one.

        Args:
            path: where; nothing may be there, unless its start is kept.
            head_bytes: space kept at the start of the file for what is known last.
            kept_bytes: bytes of an existing file that stay, and are read for the checksum; what follows them is lost.
                Only without a head.

        Raises:
            FileExistsError: there is such a file.
        """
        assert not (head_bytes and kept_bytes), "the checksum of a file with a head starts after the head"
        self._head_bytes = head_bytes
        self._hash = xxh3_128()
        self._file = path.open("r+b" if kept_bytes else "xb", buffering=0)
        # Not where nothing is kept: ext4 flushes a file that was once truncated to nothing when it is closed.
        if kept_bytes:
            self._file.truncate(kept_bytes)
            self._hash_kept(kept_bytes)
        self._file.seek(head_bytes + kept_bytes)
        self._written = self._started = head_bytes + kept_bytes

    def __enter__(self) -> "NewFile":
        """The file itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, finished or not."""
        self.close()

    def write(self, content: bytes | memoryview) -> None:
        """Append bytes.

        Args:
            content: bytes, or the memory of a one-dimensional array of bytes.
        """
        view = memoryview(content)
        for begin in range(0, len(view), _PIECE_BYTES):
            piece = view[begin : begin + _PIECE_BYTES]
            self._hash.update(piece)
            self._write_all(piece)
            self._written += len(piece)
            self._start_writeback()

    def finish(self, head: bytes = b"") -> Fingerprint:
        """Fill the space at the start, wait until all is on the disk, and close the file.

        Args:
            head: `head_bytes` bytes.

        Returns:
            The whole file's fingerprint.
        """
        assert len(head) == self._head_bytes, "the space at the start must be filled exactly"
        self._hash.update(head)
        self._file.seek(0)
        self._write_all(memoryview(head))
        os.fsync(self._file.fileno())
        self._file.close()
        return Fingerprint(self._written, self._hash.hexdigest(), self._head_bytes)

    def close(self) -> None:
        """Close the file, finished or not."""
        self._file.close()

    def _hash_kept(self, nbytes: int) -> None:
        buffer = memoryview(bytearray(min(nbytes, _PIECE_BYTES)))
        while count := self._file.readinto(buffer):
            self._hash.update(buffer[:count])

    def _write_all(self, piece: memoryview) -> None:
        """A file without buffer may take less than it is given, for instance where the disk becomes full."""
        while piece:
            piece = piece[self._file.write(piece) :]

    def _start_writeback(self) -> None:
        # Linux starts to write what it is told to drop; dirty pages stay in memory. macOS has no such call.
        waiting = self._written - self._started
        if waiting >= _WRITEBACK_BYTES and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file.fileno(), self._started, waiting, os.POSIX_FADV_DONTNEED)
            self._started = self._written


def write_new(path: Path, content: bytes) -> Fingerprint:
    """Write a new file and wait until it is on the disk.

    Raises:
        FileExistsError: there is one already.
    """
    with NewFile(path) as file:
        file.write(content)
        return file.finish()


def copy_new(source: Path, path: Path) -> Fingerprint:
    """Copy a file into a new one and wait until that is on the disk.

    Raises:
        FileExistsError: there is one already.
    """
    with source.open("rb") as original, NewFile(path) as file:
        while piece := original.read(_PIECE_BYTES):
            file.write(piece)
        return file.finish()


def read_fingerprints(folder: Path, starts: Iterable[tuple[str, int]]) -> dict[str, Fingerprint]:
    """Read files of a folder from end to end.

    Args:
        folder: the folder.
        starts: names of existing files in it, each with the byte at which its checksum starts.

    Returns:
        The fingerprint of each, in the same order.
    """
    pairs = list(starts)
    with ThreadPoolExecutor(_READING_THREADS) as pool:
        found = pool.map(_read_fingerprint, (folder / name for name, _ in pairs), (start for _, start in pairs))
        return dict(zip((name for name, _ in pairs), found, strict=True))


def _read_fingerprint(path: Path, start: int) -> Fingerprint:
    buffer = memoryview(bytearray(_PIECE_BYTES))
    digest = xxh3_128()
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
        file.seek(0)
        left = start
        while left and (count := file.readinto(buffer[: min(left, len(buffer))])):
            digest.update(buffer[:count])
            left -= count
        size = os.fstat(file.fileno()).st_size
    return Fingerprint(size, digest.hexdigest(), start)

"""Writing a file so that a crash leaves either the old content or the new one, never a part of it."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file beside its place, bring it to the disk, then move it there.

    Several processes may write the same file at once: each uses a temporary file of its own.

    Args:
        path: where the file goes; its folder is made where it is missing.
        content: all of its bytes.
    Raises:
        OSError: the disk is full or the folder can't be written.
    """
    with written_beside(path) as file:
        file.write(content)


@contextmanager
def written_beside(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes its place when the block ends, and which nothing is left of after an exception.

    Args:
        path: as for `write_atomically`.
    Raises:
        OSError: as there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)

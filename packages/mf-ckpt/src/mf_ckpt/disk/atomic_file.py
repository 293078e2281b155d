"""Single files that appear whole or not at all: written beside their place under a hidden name, then renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mf_ckpt.disk.files import sync


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes its place when the context ends; after an exception what was there stays.

    Args:
        path: the place; folders above it are made.

    Yields:
        The open file, under a hidden name in the same folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
        sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)

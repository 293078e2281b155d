"""A file that is mapped into memory, and that says so when it was cut off meanwhile."""

import errno
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class MappedFile:
    """The bytes of a file, read when they are looked at.

    Where a mapped file gets shorter, looking behind its end ends the process by a signal, without a word: `check`
    before. A file that was deleted or replaced stays mapped as it was.

    Attributes:
        content: uint8 [bytes].
    """

    def __init__(self, path: Path):
        """Maps a file.

        Args:
            path: the file.
        Raises:
            OSError: it can't be read.
        """
        found = path.stat()
        self._path, self._size = path, found.st_size
        self._identity = (found.st_dev, found.st_ino)
        # An empty file can't be mapped.
        mapped = np.memmap(path, np.uint8, "r").view(np.ndarray) if found.st_size else np.zeros(0, np.uint8)
        self.content: NDArray[np.uint8] = mapped

    def check(self) -> None:
        """Make sure that all bytes are still there.

        Raises:
            OSError: the file was cut off.
        """
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return
        if (now.st_dev, now.st_ino) == self._identity and now.st_size < self._size:
            what = f"was cut off while it is read: it had {self._size} bytes, and has {now.st_size}"
            raise OSError(errno.EIO, what, str(self._path))

"""A folder of files by key that many processes fill and read at once; its size is bounded."""

import hashlib
import logging
import os
import tempfile
from pathlib import Path

_log = logging.getLogger(__name__)

_DIGEST_BYTES = hashlib.sha256().digest_size


class KeptFiles:
    """Bytes by key. Each file begins with the digest of the rest, so that a damaged one is found out."""

    def __init__(self, folder: Path, most_bytes: int):
        """Takes the folder, which is made when it is first needed, and the bytes that may lie in it."""
        self.folder = folder
        self._most_bytes = most_bytes

    def read(self, key: str) -> bytes | None:
        """What was written under a key; None where nothing was, or it is damaged: then it is removed."""
        path = self._path(key)
        try:
            held = path.read_bytes()
            # What was used last is kept longest.
            os.utime(path)
        except OSError:
            return None
        digest, content = held[:_DIGEST_BYTES], held[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() == digest:
            return content
        _log.warning("%s is damaged and is made anew", path)
        self.remove(key)
        return None

    def write(self, key: str, content: bytes) -> None:
        """Keep bytes under a key, beside their place first; a failure is logged, nothing more."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Its name has a point in front: no reader takes it for a whole one.
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".writing-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                Path(name).replace(self._path(key))
            finally:
                Path(name).unlink(missing_ok=True)
            self._make_room()
        except OSError as error:
            _log.warning("%s can't be written: %s", self.folder, error)

    def remove(self, key: str) -> None:
        """Forget a key."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / key

    def _make_room(self) -> None:
        """Remove what was used longest ago, and what a process that ended left half-written."""
        sizes = {}
        for path in self.folder.iterdir():
            # Another process may make room, too.
            try:
                sizes[path] = path.stat()
            except FileNotFoundError:
                continue
        total = 0
        for path in sorted(sizes, key=lambda path: sizes[path].st_mtime_ns, reverse=True):
            total += sizes[path].st_size
            if total > self._most_bytes:
                path.unlink(missing_ok=True)

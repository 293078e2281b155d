"""Lines of files that may be compressed, read piece by piece: a file of any size takes little memory."""

import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from mf_config.problems import ConfigError, Location, Problem, UserError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BYTES_AT_ONCE = 1 << 17

_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
"""What the readers of compressed files raise when a file is cut off or is no such file."""


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    r"""The lines of a file, decompressed where its name ends in .gz, .xz or .zst.

    Lines end at "\n" only: U+2028, which JSON allows inside a string, does not end one.

    Args:
        path: the file.
    Yields:
        The number of each line, from 1, and its bytes with the line end; without a byte order mark at the beginning.
    Raises:
        ConfigError: the file is damaged; the message names the line at which it ends.
        UserError: its compression needs a package that is not installed.
    """
    number = 0
    with _OPENERS.get(path.suffix, _open_plain)(path) as file:
        try:
            for number, line in enumerate(file, start=1):
                yield number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        except _DAMAGED as error:
            what = f"can't be decompressed ({error})"
            raise ConfigError([Problem(Location(str(path), number + 1), "", what, "a whole file")]) from error


def plain_suffix(path: Path) -> str:
    """The ending of a file's name that tells its form, without that of its compression: `.jsonl` of `a.jsonl.gz`."""
    return Path(path.stem).suffix if path.suffix in _OPENERS else path.suffix


def _open_plain(path: Path) -> BinaryIO:
    return path.open("rb")


def _open_gzip(path: Path) -> BinaryIO:
    return io.BufferedReader(gzip.GzipFile(path))


def _open_xz(path: Path) -> BinaryIO:
    return io.BufferedReader(lzma.LZMAFile(path))


def _open_zstd(path: Path) -> BinaryIO:
    try:
        # An extra of the package: only who reads such files needs it.
        import zstandard
    except ModuleNotFoundError as error:
        raise UserError(f"{path}: .zst needs the package zstandard. Allowed: pip install 'mf-data[zstd]'.") from error
    return io.BufferedReader(_Frames(path.open("rb"), zstandard.ZstdDecompressor, zstandard.ZstdError))


_OPENERS: dict[str, Callable[[Path], BinaryIO]] = {".gz": _open_gzip, ".xz": _open_xz, ".zst": _open_zstd}


class _Frames(io.RawIOBase):
    """The content of compressed frames that follow each other; unlike zstandard's own, it notices a file cut off."""

    def __init__(self, file: BinaryIO, decompressor: Callable[[], Any], failure: type[Exception]):
        self._file = file
        self._decompressor = decompressor
        self._failure = failure
        self._frame: Any = None
        self._content = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._content:
            compressed = self._next_piece()
            if not compressed:
                return 0
            if self._frame is None:
                self._frame = self._decompressor().decompressobj()
            try:
                self._content = self._frame.decompress(compressed)
            except self._failure as error:
                raise EOFError(str(error)) from error
        size = min(len(buffer), len(self._content))
        buffer[:size], self._content = self._content[:size], self._content[size:]
        return size

    def _next_piece(self) -> bytes:
        rest = b""
        if self._frame is not None and self._frame.eof:
            rest, self._frame = self._frame.unused_data, None
        piece = rest or self._file.read(_BYTES_AT_ONCE)
        if not piece and self._frame is not None:
            raise EOFError("the file ends before its last frame does")
        return piece

"""Writes a checkpoint: tensors one by one into files of bounded size, then checks, manifest, and rename into place."""

import re
from collections.abc import Container
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np

from mf_ckpt.disk.files import is_simple_name, json_bytes
from mf_ckpt.dtypes import Array, encode
from mf_ckpt.formats.safetensors_file.header import METADATA, read_header, render_entry, render_header
from mf_ckpt.formats.safetensors_file.tensors import index_name
from mf_ckpt.store.fingerprints import Fingerprint, NewFile, copy_new, write_new
from mf_ckpt.store.manifest import MANIFEST, Manifest, write_manifest
from mf_ckpt.store.staging import check_place, locked_partial, publish
from mf_ckpt.tensor_info import TensorInfo

SHARD_BYTES = 5_000_000_000
"""Size of a file at most, as Hugging Face tools split by default; one larger tensor still gets a file of its own."""

_DATA_START = 131_072
"""Where a file's data begins. The header comes before data that is not known yet, so a fixed space is kept for it
(about 1,000 tensors); a file whose header is full is closed like one whose data is. A multiple of the page size, so
that mapped tensors are aligned."""

_LONGEST_NAME = 1_000
"""Characters of a tensor name; even escaped, six bytes each, its entry fits into `_HEADER_MARGIN`."""

_HEADER_MARGIN = 8_192
"""A file is closed when less than this is left of its header: room for the longest entry and the metadata."""

_OWN_TENSORS = re.compile(r"(model|optimizer)\b.*\.safetensors\Z|.*\.safetensors\.index\.json\Z")
"""The files that `Writer.add` and `add_optimizer` fill, and their indexes."""

_FILE_METADATA = {"format": "pt"}
"""Some releases of transformers refuse a file without this entry."""


class Writer:
    """Saves one checkpoint; use it as a context manager.

    Everything is written into a hidden folder beside the target. When the context ends without an exception, the files
    are checked, flushed to disk and listed in the manifest, and the folder takes its place in one step; a checkpoint
    that was there is replaced only then. After an exception the hidden folder is deleted and what was there stays.
    The same content added in the same order gives the same bytes. At most one tensor is held in memory.

    Example:
        with Writer("checkpoint/step-00000300", step=300) as writer:
            for name, array in weights:
                writer.add(name, array)
            writer.add_json("config.json", config)
    """

    def __init__(self, directory: str | Path, *, step: int | None = None, shard_bytes: int = SHARD_BYTES):
        """Takes the target and what the manifest says of it; nothing is touched before the context is entered.

        Args:
            directory: where the checkpoint goes; folders above it are made.
            step: optimizer updates done; None where the checkpoint doesn't come from training.
            shard_bytes: most bytes of tensor data in one file.
        """
        self._place = Path(directory)
        self._step = step
        self._shard_bytes = shard_bytes
        self._files: dict[str, Fingerprint] = {}
        self._cleanup = ExitStack()

    def __enter__(self) -> "Writer":
        """Start writing; raises `CheckpointError` where the target holds something that is not a checkpoint."""
        check_place(self._place)
        self._folder = self._cleanup.enter_context(locked_partial(self._place))
        self._weights = self._cleanup.enter_context(_Series(self._folder, "model", self._shard_bytes))
        self._optimizer = self._cleanup.enter_context(_Series(self._folder, "optimizer", self._shard_bytes))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the checkpoint, or after an exception remove what was written."""
        with self._cleanup:
            if kind is None:
                self._commit()

    def add(self, name: str, array: Array, dtype: str | None = None) -> None:
        """Write one weight.

        Args:
            name: its name, in Hugging Face form so that other tools find it.
            array: its values, any shape; for BF16 and 8-bit floats also the bits that `Reader.raw` gives.
            dtype: the element type to store (`BF16`, `F16`, …); that of the array where None.

        Raises:
            ValueError: a name added twice, or an array that can't be stored as `dtype`.
        """
        self._weights.add(name, array, dtype)

    def add_optimizer(self, name: str, array: Array, dtype: str | None = None) -> None:
        """Write one tensor of the optimizer's state; arguments and errors as for `add`."""
        self._optimizer.add(name, array, dtype)

    def add_json(self, name: str, data: object) -> None:
        """Write a JSON document, such as `config.json` or `trainer_state.json`.

        Args:
            name: name of the file.
            data: what `json.dumps` takes; keys keep their order.

        Raises:
            ValueError: not a plain file name, or one that the writer makes itself.
            FileExistsError: a file added twice.
        """
        self.add_file(name, json_bytes(data))

    def add_file(self, name: str, content: bytes | Path) -> None:
        """Write a file as it is; errors as for `add_json`.

        Args:
            name: name of the file.
            content: its bytes, or a file to copy.
        """
        check_file_name(name)
        target = self._folder / name
        self._files[name] = write_new(target, content) if isinstance(content, bytes) else copy_new(content, target)

    def _commit(self) -> None:
        # An adapter has its tensors in a file that was added whole, and its base elsewhere.
        has_tensors = any(name.endswith(".safetensors") for name in self._files)
        self._files |= self._weights.finish(always=not has_tensors)
        self._files |= self._optimizer.finish(always=False)
        for name in self._files:
            if name.endswith(".safetensors"):
                read_header(self._folder / name)
        write_manifest(self._folder, Manifest(self._step, self._files))
        publish(self._folder, self._place)


def check_file_name(name: str) -> None:
    """Make sure that a file of that name may be added to a checkpoint.

    Raises:
        ValueError: not a plain file name, or one that the writer makes itself.
    """
    made_here = name == MANIFEST or _OWN_TENSORS.match(name)
    if made_here or not is_simple_name(name):
        raise ValueError(f"{name!r} can't be added: not a plain file name, or one that the writer makes itself")


def check_tensor_name(name: str, taken: Container[str]) -> None:
    """Make sure that a tensor of that name may be added.

    Args:
        name: the name.
        taken: the names added before.

    Raises:
        ValueError: it was added before, is reserved by the file format, or is too long.
    """
    if name in taken or name == METADATA or len(name) > _LONGEST_NAME:
        raise ValueError(f"tensor name {name[:_LONGEST_NAME]!r} was added before, is reserved or too long")


class _Series:
    """Files `STEM-00001-of-0000N.safetensors` of bounded size, and their index; N is known, and named, at the end."""

    def __init__(self, folder: Path, stem: str, shard_bytes: int):
        self._folder = folder
        self._stem = stem
        self._shard_bytes = shard_bytes
        self._number_of: dict[str, int] = {}
        self._total_bytes = 0
        self._closed: list[Fingerprint] = []
        self._current: _Shard | None = None

    def __enter__(self) -> "_Series":
        return self

    def __exit__(self, *_: object) -> None:
        if self._current is not None:
            self._current.file.close()

    def add(self, name: str, array: Array, dtype: str | None) -> None:
        check_tensor_name(name, self._number_of)
        stored, bits = encode(np.asarray(array), dtype)
        info = TensorInfo(stored, bits.shape)
        if self._current is not None and self._current.is_full(info, self._shard_bytes):
            self._close_current()
        if self._current is None:
            self._current = _Shard(self._unfinished(len(self._closed) + 1))
        self._current.add(name, info, bits)
        self._number_of[name] = len(self._closed) + 1
        self._total_bytes += info.nbytes

    def finish(self, always: bool) -> dict[str, Fingerprint]:
        """Close the last file, give all their final names, and write the index.

        Args:
            always: also where there is no tensor.

        Returns:
            The fingerprints of all files, by name.
        """
        self._close_current()
        if not self._number_of and not always:
            return {}
        count = len(self._closed)
        names = [f"{self._stem}-{number:05d}-of-{count:05d}.safetensors" for number in range(1, count + 1)]
        for number, name in enumerate(names, start=1):
            self._unfinished(number).rename(self._folder / name)
        weight_map = {name: names[number - 1] for name, number in sorted(self._number_of.items())}
        index = {"metadata": {"total_size": self._total_bytes}, "weight_map": weight_map}
        written = write_new(self._folder / index_name(self._stem), json_bytes(index))
        return {**dict(zip(names, self._closed, strict=True)), index_name(self._stem): written}

    def _unfinished(self, number: int) -> Path:
        return self._folder / f"{self._stem}-{number:05d}.safetensors"

    def _close_current(self) -> None:
        if self._current is not None:
            self._closed.append(self._current.finish())
            self._current = None


class _Shard:
    """One safetensors file that is being written: data first, the header in the space before it at the end."""

    def __init__(self, path: Path):
        self.file = NewFile(path, _DATA_START)
        self._entries: list[bytes] = []
        self._header_bytes = 0
        self._data_bytes = 0

    def is_full(self, info: TensorInfo, shard_bytes: int) -> bool:
        return self._data_bytes + info.nbytes > shard_bytes or self._header_bytes > _DATA_START - _HEADER_MARGIN

    def add(self, name: str, info: TensorInfo, bits: Array) -> None:
        entry = render_entry(name, info, self._data_bytes)
        self.file.write(bits.reshape(-1).view(np.uint8).data)
        self._entries.append(entry)
        self._header_bytes += len(entry) + 1
        self._data_bytes += info.nbytes

    def finish(self) -> Fingerprint:
        return self.file.finish(render_header(self._entries, _FILE_METADATA, _DATA_START))

"""A lazy mapping from names to tensors over one or several safetensors files: the one engine that reads tensors."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from mf_ckpt.dtypes import ELEMENT_TYPES, Array
from mf_ckpt.files import CheckpointError, is_simple_name, member, read_json
from mf_ckpt.headers import Header, TensorInfo, read_header
from mf_config.problems import UserError
from mf_config.suggest import nearest

Slices = tuple[slice, ...]
"""One `slice(start, stop)` for each leading dimension."""

_SHOWN_NAMES = 5


class TensorNotFoundError(UserError, KeyError):
    """A name that a mapping of tensors lacks."""

    def __init__(self, origin: str, name: str, names: Collection[str]):
        """Takes how to call the whole, the name asked for, and the names there are."""
        super().__init__(origin, name)
        self._names = names

    def __str__(self) -> str:
        """The message with the nearest name, sought only now: `get` drops the error, and many names take long."""
        origin, name = self.args
        guess = nearest(name, self._names)
        hint = f" Did you mean {guess}?" if guess else ""
        return f"{origin}: no tensor {name!r} among {len(self._names)}.{hint}"


class TensorFile:
    """One safetensors file: its header is checked at once, its data mapped into memory when first asked for.

    Attributes:
        path: the file.
        header: its tensors and their places.
    """

    def __init__(self, path: Path):
        """Takes a file; see `read_header` for what is refused."""
        self.path = path
        self.header: Header = read_header(path)
        self._bytes: Array | None = None

    def raw(self, name: str) -> Array:
        """The stored bits of a tensor as a read-only view of the mapped file."""
        info = self.header.tensors[name]
        storage = ELEMENT_TYPES[info.dtype].storage
        if info.count == 0:
            return np.empty(info.shape, storage)
        if self._bytes is None:
            self._bytes = np.asarray(np.memmap(self.path, np.uint8, "r"))
        begin = self.header.begins[name]
        bits: Array = self._bytes[begin : begin + info.nbytes].view(storage)
        return bits.reshape(info.shape)


class Tensors(Mapping[str, Array]):
    """Tensors by name, read when they are asked for.

    A whole tensor or a part comes as a read-only view of the mapped file, so that only the pages in use are read;
    what numpy can't hold (BF16, 8-bit floats) is copied and widened exactly to float32, and so is, without widening,
    what the file places at an address that its type doesn't divide.

    Attributes:
        files: tensor name to the open file that holds it.
    """

    def __init__(self, files: Mapping[str, TensorFile], origin: str):
        """Takes the file that holds each name, and how messages call the whole."""
        self.files = files
        self._origin = origin

    def __getitem__(self, name: str) -> Array:
        """The whole tensor, any shape; raises `TensorNotFoundError`, which is a `KeyError`."""
        return self.read(name)

    def __contains__(self, name: object) -> bool:
        """Whether there is a tensor of that name; nothing is read."""
        return name in self.files

    def __iter__(self) -> Iterator[str]:
        """The names, file by file."""
        return iter(self.files)

    def __len__(self) -> int:
        """Number of tensors."""
        return len(self.files)

    def info(self, name: str) -> TensorInfo:
        """Stored element type and shape, without reading the tensor.

        Raises:
            TensorNotFoundError: there is no tensor of that name.
        """
        return self._file_of(name).header.tensors[name]

    def read(self, name: str, slices: Slices = ()) -> Array:
        """The values of a tensor or of a part of it.

        Args:
            name: the tensor.
            slices: one `slice(start, stop)` for each leading dimension, within bounds and without a step; dimensions
                that are not named are taken whole.

        Returns:
            The values in the shape of the slices; float32 for BF16 and 8-bit floats, else the stored type.

        Raises:
            TensorNotFoundError: there is no tensor of that name.
            ValueError: a slice leaves the tensor, which numpy would answer with fewer elements.
        """
        bits = self.raw(name, slices)
        widen = ELEMENT_TYPES[self.info(name).dtype].widen
        return bits if widen is None else widen(bits)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits, untouched: uint16 for BF16, uint8 for 8-bit floats, else the stored type.

        Args:
            name: the tensor.
            slices: as for `read`.

        Returns:
            The bits in the shape of the slices.

        Raises:
            TensorNotFoundError: there is no tensor of that name.
            ValueError: a slice leaves the tensor.
        """
        whole = self._file_of(name).raw(name)
        if not slices:
            return np.require(whole, requirements="A")
        _check_slices(name, slices, whole.shape)
        return np.require(whole[slices], requirements="A")

    def _file_of(self, name: str) -> TensorFile:
        if name not in self.files:
            raise TensorNotFoundError(self._origin, name, self.files.keys())
        return self.files[name]


def open_file(path: Path) -> Tensors:
    """The tensors of one safetensors file.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    file = TensorFile(path)
    return Tensors(dict.fromkeys(file.header.tensors, file), str(path))


def open_series(folder: Path, stem: str) -> Tensors:
    """The tensors of the files that an index names.

    Args:
        folder: where index and files lie.
        stem: `model` or `optimizer`; the index is `STEM.safetensors.index.json`.

    Returns:
        The tensors that the index names; others in the files are no part of it.

    Raises:
        CheckpointError: the index or a file is missing or damaged, a name leaves the folder, or a tensor is not
            where the index says.
    """
    index = member(folder, index_name(stem))
    names_of: dict[str, list[str]] = {}
    for name, file_name in read_index(index).items():
        names_of.setdefault(file_name, []).append(name)
    opened = {file_name: _open_part(index, file_name, names) for file_name, names in names_of.items()}
    return Tensors({name: opened[file_name] for file_name, names in names_of.items() for name in names}, str(folder))


def index_name(stem: str) -> str:
    """The name of the index of a series of files."""
    return f"{stem}.safetensors.index.json"


def read_index(path: Path) -> dict[str, str]:
    """An index: tensor name to file name.

    Raises:
        CheckpointError: it is missing, not an index, or names something that is not a plain file name.
    """
    files = read_json(path).get("weight_map")
    if not isinstance(files, dict):
        raise CheckpointError(path, "has no weight_map, an object from tensor names to file names")
    for name, file_name in files.items():
        if not is_simple_name(file_name):
            raise CheckpointError(
                path, f"places tensor {name!r} in {file_name!r}. Allowed: the name of a file in that folder."
            )
    return files


def _open_part(index: Path, file_name: str, names: list[str]) -> TensorFile:
    path = member(index.parent, file_name)
    if not path.is_file():
        raise CheckpointError(path, f"is missing; {index.name} places {len(names)} tensors there: {some(names)}")
    file = TensorFile(path)
    missing = [name for name in names if name not in file.header.tensors]
    if missing:
        raise CheckpointError(path, f"lacks {len(missing)} tensors that {index.name} places there: {some(missing)}")
    return file


def some(names: Sequence[str]) -> str:
    """The first names of a long list, quoted for a message."""
    rest = len(names) - _SHOWN_NAMES
    return ", ".join(map(repr, names[:_SHOWN_NAMES])) + (f" and {rest} more" if rest > 0 else "")


def _check_slices(name: str, slices: Slices, shape: tuple[int, ...]) -> None:
    inside = len(slices) <= len(shape) and all(
        part.step in (None, 1) and 0 <= (part.start or 0) <= (size if part.stop is None else part.stop) <= size
        for part, size in zip(slices, shape, strict=False)
    )
    if not inside:
        raise ValueError(f"tensor {name!r}: slices {slices} don't lie inside shape {shape}")

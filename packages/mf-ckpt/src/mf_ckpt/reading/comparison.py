"""Where two checkpoints differ: tensors, types, shapes, values and documents, however the tensors are stored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mf_ckpt.disk.files import JsonObject, parse_json_object
from mf_ckpt.dtypes import Array
from mf_ckpt.reading.reader import Reader
from mf_ckpt.sources.blocks import BLOCK_BYTES, parts
from mf_ckpt.sources.source import Source
from mf_ckpt.store.block_stream import Progress
from mf_ckpt.store.documents import documents_of
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError

_WIDEST_BYTES = 8
"""Elements are compared as float64, so a block has so many bytes for each at most."""


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """How the values of two tensors of one type and shape differ.

    Attributes:
        count: elements whose bits differ.
        elements: elements in all.
        largest: largest absolute difference of values; NaN where one side alone is not a number.
    """

    count: int
    elements: int
    largest: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All differences of two checkpoints; true where there is one. The optimizer's tensors are among the tensors.

    Attributes:
        only_first: tensors of the first alone.
        only_second: tensors of the second alone.
        forms: tensors whose types or shapes differ, with both.
        values: tensors whose values differ.
        documents: files beside the tensors that differ or that one alone has.
    """

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    forms: Mapping[str, tuple[TensorInfo, TensorInfo]]
    values: Mapping[str, ValueDifference]
    documents: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.only_first or self.only_second or self.forms or self.values or self.documents)

    def to_json(self) -> JsonObject:
        """Everything as plain data."""
        return {
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "forms": {name: [f"{info.dtype} {list(info.shape)}" for info in pair] for name, pair in self.forms.items()},
            "values": {
                name: {
                    "differing": found.count,
                    "elements": found.elements,
                    "largest": found.largest if np.isfinite(found.largest) else str(found.largest),
                }
                for name, found in self.values.items()
            },
            "documents": list(self.documents),
        }


def compare_checkpoints(first: Reader, second: Reader, progress: Progress) -> Comparison:
    """Compare two checkpoints, bit by bit and block by block.

    Args:
        first: one checkpoint.
        second: the other.
        progress: called with the bytes compared so far and in all.

    Returns:
        All differences.
    """
    pairs = [(first.weights, second.weights), (first.optimizer, second.optimizer)]
    forms: dict[str, tuple[TensorInfo, TensorInfo]] = {}
    values: dict[str, ValueDifference] = {}
    total, done = sum(one.info(name).nbytes for one, other in pairs for name in one if name in other), 0
    for one, other in pairs:
        for name in one:
            if name not in other:
                continue
            infos = one.info(name), other.info(name)
            if (infos[0].dtype, infos[0].shape) != (infos[1].dtype, infos[1].shape):
                forms[name] = infos
            elif difference := _compare_values(one, other, name):
                values[name] = difference
            done += infos[0].nbytes
            progress(done, total)
    return Comparison(
        only_first=tuple(name for one, other in pairs for name in one if name not in other),
        only_second=tuple(name for one, other in pairs for name in other if name not in one),
        forms=forms,
        values=values,
        documents=tuple(_differing_documents(first, second)),
    )


def _compare_values(first: Source, second: Source, name: str) -> ValueDifference | None:
    info = first.info(name)
    count, largest = 0, 0.0
    for slices, _ in parts(info.shape, BLOCK_BYTES // _WIDEST_BYTES):
        one, other = first.raw(name, slices), second.raw(name, slices)
        differing = _bits(one) != _bits(other)
        if differing.any():
            count += int(differing.any(axis=-1).sum())
            largest = max(largest, _largest(first.read(name, slices), second.read(name, slices)), key=_nan_first)
    return ValueDifference(count, info.count, largest) if count else None


def _bits(array: Array) -> Array:
    """The bytes of each element in a row, uint8 [elements, bytes]; quantised tensors are bytes already."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, -1)


def _largest(one: Array, other: Array) -> float:
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    first, second = one.astype(wide), other.astype(wide)
    with np.errstate(invalid="ignore"):
        difference = np.abs(first - second)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    return float(np.where(same, 0.0, difference).max())


def _nan_first(value: float) -> float:
    return np.inf if np.isnan(value) else value


def _differing_documents(first: Reader, second: Reader) -> Iterator[str]:
    ours, theirs = documents_of(first.path), documents_of(second.path)
    if not ours or not theirs:
        # A single file has no documents, which is no difference.
        return
    for name in sorted({*ours, *theirs}):
        if name not in ours or name not in theirs or not _say_the_same(ours[name], theirs[name]):
            yield name


def _say_the_same(first: Path, second: Path) -> bool:
    """Whether two files have the same bytes, or are JSON of the same content."""
    one, other = first.read_bytes(), second.read_bytes()
    if one == other or first.suffix != ".json":
        return one == other
    try:
        return parse_json_object(one) == parse_json_object(other)
    except UserError:
        return False

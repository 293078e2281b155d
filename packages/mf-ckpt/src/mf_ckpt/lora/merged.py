"""A base and LoRA weights as one source of merged weights, and the way back; a part at a time, nothing kept.

Merged weights have the types of the base. They are computed in the next wider type and rounded once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mf_ckpt.disk.files import JsonObject
from mf_ckpt.dtypes import Array, encode
from mf_ckpt.lora.adapter import Adapter, problems_as_one
from mf_ckpt.sources.source import Slices, Source, TableSource, bounded, some
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError
from mf_config.suggest import nearest

MERGE_RECORD = "lora_merge.json"
"""The document beside merged weights that says which adapters are in them."""

_COMPUTE: dict[str, np.dtype[np.floating]] = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float64),
    "F16": np.dtype(np.float32),
    "BF16": np.dtype(np.float32),
}
"""Element type of a base weight to the type that its merge is computed in."""

_STORED_STEP = {"F64": 2.0**-52, "F32": 2.0**-23, "F16": 2.0**-10, "BF16": 2.0**-7}
"""Distance of neighbouring values of a type, relative to the lower one, at most."""


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a merged tensor comes from: a tensor of a source, and the weight whose change is added to it, if any."""

    source: Source
    name: str
    changed: str | None = None


class MergedTensors(TableSource[_Origin]):
    """The weights of a base with an adapter merged in, in the types of the base.

    Where the base doesn't store a weight because it is tied to another one, and the adapter changes or replaces either
    of the two, they are no longer equal: the weight becomes a tensor of its own, and `untied` names it.

    Attributes:
        base: the base weights.
        adapter: the adapter.
        untied: weights that the base doesn't store and the merged weights do; where there are any, the model's
            `tie_word_embeddings` must become false.
    """

    def __init__(self, base: Source, adapter: Adapter, ties: Mapping[str, str] | None = None):
        """Takes the parts.

        Args:
            base: the base weights, under the names that the adapter uses.
            adapter: the adapter.
            ties: weights that the base doesn't store to those that they are tied to, such as `lm_head.weight` to
                `model.embed_tokens.weight`.

        Raises:
            UserError: the base lacks weights that the adapter changes, they have other shapes or no float type, or the
                adapter is in the base already; all faults in one message.
        """
        self.base = base
        self.adapter = adapter
        touched = {*adapter.pairs, *adapter.replaced}
        open_ties = {name: stored for name, stored in (ties or {}).items() if name not in base and stored in base}
        self.untied = tuple(name for name, stored in open_ties.items() if {name, stored} & touched)
        table = {name: _Origin(base, name) for name in base}
        table |= {name: _Origin(base, open_ties[name]) for name in self.untied}
        problems = _problems(adapter, table)
        if isinstance(base, MergedTensors) and base.has_merged(adapter):
            problems.append("it is merged into this base already")
        problems_as_one(adapter.origin, problems)
        for name in adapter.pairs:
            table[name] = _Origin(base, table[name].name, name)
        self._dtypes = {name: base.info(table[name].name).dtype for name in adapter.replaced}
        table |= {name: _Origin(adapter.tensors, own) for name, own in adapter.replaced.items()}
        super().__init__(table, f"{adapter.origin} merged")

    def has_merged(self, adapter: Adapter) -> bool:
        """Whether an adapter is one of those that are merged here; all of it is read."""
        if self.adapter.fingerprint() == adapter.fingerprint():
            return True
        return isinstance(self.base, MergedTensors) and self.base.has_merged(adapter)

    def info(self, name: str) -> TensorInfo:
        """Type of the base's tensor, and shape; see `Source.info`."""
        origin = self._entry(name)
        info = origin.source.info(origin.name)
        return TensorInfo(self._dtypes[name], info.shape) if name in self._dtypes else info

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits of a merged tensor or a part of it; only that part is computed. See `Source.raw`.

        Raises:
            UserError: a sum is too large for the base's type, or the adapter has values that are no numbers.
        """
        origin, info = self._entry(name), self.info(name)
        if origin.changed is None:
            same = origin.source.info(origin.name).dtype == info.dtype
            if same:
                return origin.source.raw(origin.name, slices)
            return encode(origin.source.read(origin.name, slices), info.dtype)[1]
        full = bounded(name, slices, info.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            wide = origin.source.read(origin.name, full).astype(_COMPUTE[info.dtype])
            wide += self.adapter.change(origin.changed, full, wide.dtype)
            bits = encode(wide, info.dtype)[1]
        if not _is_finite(bits, info.dtype):
            raise UserError(
                f"tensor {name!r}: merged, it has values that {info.dtype} can't hold, or that are no numbers"
            )
        return bits

    def raw_into(self, name: str, slices: Slices, out: Array) -> None:
        """Copy stored bits into an array; see `Source.raw_into`."""
        origin, info = self._entry(name), self.info(name)
        if origin.changed is None and origin.source.info(origin.name) == info:
            origin.source.raw_into(origin.name, slices, out)
        else:
            out[...] = self.raw(name, slices)


class UnmergedTensors(TableSource[bool]):
    """The base weights again, bit for bit, from merged weights and the originals of what the adapter changed.

    A rounded sum can't be undone by subtraction, so the changed tensors come from `originals`: the base itself, or a
    copy of just those tensors. Each part is merged again as it is read, and compared with the merged weights, so that
    originals of another base are refused.
    """

    def __init__(self, merged: Source, originals: Source, adapter: Adapter, ties: Mapping[str, str] | None = None):
        """Takes the parts.

        Args:
            merged: the merged weights.
            originals: at least the base's tensors that the adapter changes or replaces.
            adapter: the adapter that was merged.
            ties: as for `MergedTensors`.

        Raises:
            UserError: `originals` lacks some of them, or they don't fit the adapter.
        """
        self._again = MergedTensors(originals, adapter, ties)
        self._merged = merged
        self._originals = originals
        touched = {*adapter.pairs, *adapter.replaced}
        kept = [name for name in merged if name not in self._again.untied]
        super().__init__({name: name in touched for name in kept}, f"{adapter.origin} unmerged")

    def info(self, name: str) -> TensorInfo:
        """Type and shape; see `Source.info`."""
        return (self._originals if self._entry(name) else self._merged).info(name)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """The stored bits of a base tensor or a part of it; see `Source.raw`.

        Raises:
            UserError: merging the originals again doesn't give the merged weights.
        """
        if not self._entry(name):
            return self._merged.raw(name, slices)
        expected, found = self._again.read(name, slices), self._merged.read(name, slices)
        original = self._originals.read(name, slices)
        if not _is_close(expected, found, original, self.info(name).dtype):
            raise UserError(f"tensor {name!r}: these originals and this adapter don't give the merged weights")
        return self._originals.raw(name, slices)


def merge_record(adapter: Adapter, earlier: JsonObject | None = None) -> JsonObject:
    """The document `MERGE_RECORD` that goes beside merged weights.

    Args:
        adapter: what was merged; all of it is read.
        earlier: the base's own record, where adapters were merged into it before.
    """
    before = earlier["adapters"] if earlier else []
    entry = {"fingerprint": adapter.fingerprint(), "tensors": sorted({*adapter.pairs, *adapter.replaced})}
    return {"format": "mf-lora-merge", "format_version": 1, "adapters": [*before, entry]}


def check_not_merged(record: JsonObject | None, adapter: Adapter) -> None:
    """Refuse to merge an adapter into weights that have it already, which would count it twice.

    Args:
        record: the document `MERGE_RECORD` of the base; None where it has none.
        adapter: what is to be merged; all of it is read where there is a record.

    Raises:
        UserError: it is merged, or the record is damaged.
    """
    if record is None:
        return
    adapters = record.get("adapters")
    if not isinstance(adapters, list) or not all(isinstance(entry, dict) for entry in adapters):
        raise UserError(f"{MERGE_RECORD}: has no list of adapters")
    fingerprint = adapter.fingerprint()
    if any(entry.get("fingerprint") == fingerprint for entry in adapters):
        raise UserError(f"{adapter.origin}: is merged into these weights already. Allowed: the base without it.")


def _problems(adapter: Adapter, table: Mapping[str, _Origin]) -> list[str]:
    problems = list(_misfits(adapter, table))
    problems += [f"{name} has a change and a replacement" for name in adapter.pairs if name in adapter.replaced]
    absent = [name for name in (*adapter.pairs, *adapter.replaced) if name not in table]
    if absent:
        guess = nearest(absent[0], table)
        hint = f", did you mean {guess}?" if guess else ""
        problems.append(f"{len(absent)} tensors are not in the base: {some(absent)}{hint}")
    return problems


def _misfits(adapter: Adapter, table: Mapping[str, _Origin]) -> Iterator[str]:
    shapes: dict[str, tuple[int, ...]] = {name: pair.shape for name, pair in adapter.pairs.items()}
    shapes |= {name: adapter.tensors.info(own).shape for name, own in adapter.replaced.items()}
    for name, shape in shapes.items():
        if name not in table:
            continue
        info = table[name].source.info(table[name].name)
        if info.shape != shape:
            yield f"{name} is {list(info.shape)} in the base, {list(shape)} in the adapter"
        if info.dtype not in _COMPUTE:
            yield f"{name} is {info.dtype} in the base. Allowed: {', '.join(_COMPUTE)}."


def _is_finite(bits: Array, dtype: str) -> bool:
    if dtype == "BF16":
        # All bits of the exponent are set.
        return bool(((np.asarray(bits, np.uint16) & 0x7F80) != 0x7F80).all())
    return bool(np.isfinite(bits).all())


def _is_close(expected: Array, found: Array, original: Array, dtype: str) -> bool:
    """Whether two merges agree but for the order of summation, which depends on the shape of the part."""
    if expected.size == 0:
        return True
    computed = np.finfo(_COMPUTE[dtype]).eps
    slack = 64 * float(computed) * float(np.abs(original.astype(np.float64)).max())
    close: bool = np.allclose(expected, found, rtol=_STORED_STEP[dtype], atol=slack, equal_nan=True)
    return close

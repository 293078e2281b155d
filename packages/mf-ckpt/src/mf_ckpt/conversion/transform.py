"""The transform engine: a checkpoint in any form becomes one in another, in one pass over its tensors.

What changes is said by sources made from sources (translated, cast, cut); here they are put together, and their tensors
go into files block by block. Memory is bounded by a few blocks, whatever the size of the model.
"""

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from mf_ckpt.disk.files import json_bytes
from mf_ckpt.dtypes import ELEMENT_TYPES
from mf_ckpt.formats.safetensors_file.tensors import Tensors, index_name
from mf_ckpt.keymap.keymap import KeyMap
from mf_ckpt.keymap.mapped import MappedSource
from mf_ckpt.keymap.optimizer_state import translated
from mf_ckpt.placement.layout import LAYOUT, Layout
from mf_ckpt.reading.reader import Reader, open_checkpoint, rank_stem
from mf_ckpt.sources.cast import CastSource
from mf_ckpt.sources.sliced import RankSource
from mf_ckpt.sources.source import Source
from mf_ckpt.store.block_stream import Progress
from mf_ckpt.store.documents import TRAINER_STATE, describe_origin, documents_of
from mf_ckpt.store.file_plan import Series
from mf_ckpt.store.resumable_save import READING_THREADS, Content, store
from mf_ckpt.store.writer import SHARD_BYTES
from mf_config.layout import TensorLayout
from mf_config.problems import UserError

_MOST_SHOWN = 12
"""A layout for another model differs in hundreds of tensors; the first ones tell."""


def transform(
    source: Reader | str | Path,
    destination: str | Path,
    *,
    layout: Layout | None = None,
    keys: KeyMap | None = None,
    dtype: str | None = None,
    progress: Progress | None = None,
    workers: int = READING_THREADS,
) -> None:
    """Make an mf checkpoint from any checkpoint: cut over a mesh or whole, under other names, in another type.

    Every element is read once. After an interruption, the same call goes on where it ended.

    Args:
        source: a checkpoint, or the path of one.
        destination: folder of the new one; a checkpoint that is there is replaced when the new one is complete.
        layout: how its tensors are cut, under their new names; whole tensors where None.
        keys: translates the names and forms of the weights; the optimizer's state goes along.
        dtype: type of all float weights (`F32`, `F16`, `BF16`); as they are where None.
        progress: called with bytes done and bytes in all.
        workers: threads that read.

    Raises:
        UserError: source, table, type and layout don't go together, or the destination can't be written to.
    """
    reader = source if isinstance(source, Reader) else open_checkpoint(source)
    weights, state = _translated(reader, keys, dtype)
    documents = documents_for(reader)
    if layout is None:
        series = [whole_weights(reader, weights)]
        if state:
            series.append(Series("optimizer", state, SHARD_BYTES, reader.metadata))
    else:
        _check_layout(layout, weights, state)
        series = [
            *_pieces("model", weights, layout.tensors, layout),
            *_pieces("optimizer", state, layout.optimizer, layout),
        ]
        documents[LAYOUT] = json_bytes(layout.to_json())
    origin = f"{describe_origin(reader.path)} {keys} {layout} {dtype}"
    store(
        Content(tuple(series), documents, reader.path, reader.step, origin),
        destination,
        progress=progress,
        workers=workers,
    )


def export(
    source: Reader | str | Path,
    destination: str | Path,
    *,
    keys: KeyMap | None = None,
    dtype: str | None = None,
    progress: Progress | None = None,
    workers: int = READING_THREADS,
) -> None:
    """Make a plain Hugging Face folder from any checkpoint: whole weights and documents, nothing of training.

    What came from a Hugging Face folder of files up to 5 GB comes out byte by byte the same. Arguments and errors are
    those of `transform`.
    """
    reader = source if isinstance(source, Reader) else open_checkpoint(source)
    weights, _ = _translated(reader, keys, dtype)
    origin = f"{describe_origin(reader.path)} {keys} {dtype}"
    _store_plain(reader, weights, origin, destination, progress=progress, workers=workers)


def export_weights(weights: Source, like: Reader | str | Path, destination: str | Path) -> None:
    """Make a plain Hugging Face folder of other weights: everything else is that of a checkpoint.

    Its documents (configuration, tokenizer, …), the division among files and the entries of their headers are taken
    over, so that the same weights come out byte by byte as they lie there.

    Args:
        weights: what is written, in the order and the element types in which they are to lie there.
        like: the checkpoint, or its path.
        destination: a folder that is not there yet, or an mf checkpoint, which is replaced when all is written.

    Raises:
        UserError: there is no such checkpoint, or the destination can't be written to.
    """
    reader = like if isinstance(like, Reader) else open_checkpoint(like)
    # Weights in memory may be others at the next call, so that none goes on where an interrupted one ended.
    _store_plain(reader, weights, f"memory {secrets.token_hex(16)}", destination)


def _store_plain(
    like: Reader,
    weights: Source,
    origin: str,
    destination: str | Path,
    progress: Progress | None = None,
    workers: int = READING_THREADS,
) -> None:
    documents = {name: document for name, document in documents_for(like).items() if name != TRAINER_STATE}
    series = whole_weights(like, weights, one_file_name="model.safetensors")
    content = Content((series,), documents, like.path, None, origin, has_manifest=False)
    store(content, destination, progress=progress, workers=workers)


def documents_for(reader: Reader) -> dict[str, bytes | Path]:
    """The documents of a checkpoint that is made from another one: those beside it, and its model's configuration."""
    documents: dict[str, bytes | Path] = dict(documents_of(reader.path))
    for name, document in reader.documents.items():
        documents.setdefault(name, json_bytes(document))
    return documents


def whole_weights(reader: Reader, weights: Source, one_file_name: str | None = None) -> Series:
    """The files of whole weights, divided among files as the checkpoint that they come from.

    Args:
        reader: the checkpoint.
        weights: its weights, as they are to be written.
        one_file_name: what the only file is called, without index, where one is enough.
    """
    breaks = {names[0] for names in _files_of(reader.weights)}
    index = reader.document(index_name("model")) or {}
    noted = index.get("metadata", {})
    noted = noted if isinstance(noted, dict) else {}
    return Series("model", weights, SHARD_BYTES, reader.metadata, noted, breaks, one_file_name)


def _translated(reader: Reader, keys: KeyMap | None, dtype: str | None) -> tuple[Source, Source]:
    """Weights and optimizer state under their new names, the weights in their new type."""
    weights: Source = reader.weights
    state = reader.optimizer
    if keys is not None:
        state = translated(state, weights, keys) if state else state
        weights = MappedSource(weights, keys)
    if dtype is not None:
        weights = CastSource(weights, dtype)
    quantised = next((name for name in weights if weights.info(name).dtype not in ELEMENT_TYPES), None)
    if quantised is not None:
        raise UserError(
            f"{reader.path}: tensor {quantised!r} is quantised ({weights.info(quantised).dtype}). "
            "Allowed: with a type to widen it to, such as BF16."
        )
    return weights, state


def _files_of(source: Source) -> list[list[str]]:
    """The names in each file of a source that has files, so that a copy has the same ones."""
    names_of: dict[int, list[str]] = {}
    for name, file in source.files.items() if isinstance(source, Tensors) else ():
        names_of.setdefault(id(file), []).append(name)
    return list(names_of.values())


def _pieces(kind: str, whole: Source, layouts: Mapping[str, TensorLayout], layout: Layout) -> Iterator[Series]:
    """The files of each rank, with the pieces that it stores."""
    stored: dict[int, dict[str, TensorLayout]] = {}
    for name in whole:
        for rank in layout.storing_ranks(name):
            stored.setdefault(rank, {})[name] = layouts[name]
    for rank, own in sorted(stored.items()):
        pieces = RankSource(whole, layout.mesh, own, rank)
        yield Series(rank_stem(kind, rank), pieces, SHARD_BYTES, {"format": "pt"})


def _check_layout(layout: Layout, weights: Source, state: Source) -> None:
    """Make sure that a layout places exactly the tensors that there are.

    Raises:
        UserError: all tensors that it lacks, knows alone, or has in another shape.
    """
    faults = [
        *_misplaced(weights, layout.tensors),
        *_misplaced(state, layout.optimizer),
    ]
    if faults:
        raise UserError("\n".join([*faults[:_MOST_SHOWN], f"{len(faults)} tensors don't fit the layout."]))


def _misplaced(source: Source, layouts: Mapping[str, TensorLayout]) -> Iterator[str]:
    for name in source:
        if name not in layouts:
            yield f"tensor {name!r}: the layout doesn't place it."
        elif layouts[name].shape != source.info(name).shape:
            yield f"tensor {name!r}: has shape {list(source.info(name).shape)}, placed as {list(layouts[name].shape)}."
    for name in layouts:
        if name not in source:
            yield f"tensor {name!r}: the layout places it, but there is none."

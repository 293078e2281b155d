"""Checkpoints of other programs under Hugging Face names, and back, by the key maps of the model's family."""

from pathlib import Path

from mf_ckpt.disk.files import CheckpointError, JsonObject
from mf_ckpt.dtypes import ELEMENT_TYPES
from mf_ckpt.families import CheckpointFamily, family_of
from mf_ckpt.formats.mindspore_ckpt.ckpt_writer import check_ckpt_place
from mf_ckpt.keymap.keymap import KeyMap
from mf_ckpt.keymap.mapped import MappedSource
from mf_ckpt.keymap.optimizer_state import owner, translated
from mf_ckpt.reading.reader import Reader
from mf_ckpt.sources.cast import CastSource
from mf_ckpt.sources.combined import CombinedSource
from mf_ckpt.sources.renamed import RenamedSource
from mf_ckpt.sources.source import Source
from mf_ckpt.store.block_stream import Progress
from mf_ckpt.store.ckpt_plan import PlannedCkpt
from mf_ckpt.store.documents import CONFIG, describe_origin
from mf_ckpt.store.resumable_save import store_file
from mf_config.problems import UserError, name_values

_MODELS = "pip install mf-models"
"""How to get what knows the usual models."""


def in_hf_form(reader: Reader, config: JsonObject | None) -> tuple[Reader, list[str]]:
    """A checkpoint with its tensors under Hugging Face names and in Hugging Face form.

    Args:
        reader: a checkpoint of any form. One of MindSpore holds the optimizer's state among its weights.
        config: the model's config.json, which tells the family; not needed for Hugging Face names.

    Returns:
        The checkpoint, and the tensors that are neither weights nor state of a weight, such as counters of MindSpore.

    Raises:
        UserError: no family knows the model, or its map doesn't know this form.
    """
    documents = dict(reader.documents)
    if reader.config is None and config is not None:
        documents[CONFIG] = config
    if reader.form == "hf":
        same = Reader(reader.path, reader.weights, reader.optimizer, step=reader.step, documents=documents)
        return (reader if documents == reader.documents else same), []
    keys = _keys(reader.path, _family(reader, config), reader.form).inverse
    names = dict.fromkeys(name for name in reader.weights if keys.covers(name))
    state = dict.fromkeys(name for name in reader.weights if name not in names and owner(name, names))
    weights: Source = RenamedSource.subset(_expanded(reader.weights), names)
    moved = translated(RenamedSource.subset(reader.weights, state), weights, keys)
    left_out = [name for name in reader.weights if name not in names and name not in state]
    found = Reader(reader.path, MappedSource(weights, keys), moved, step=reader.step, documents=documents)
    return found, left_out


def _expanded(weights: Source) -> Source:
    """Weights whose parts can be moved about: those in blocks of several values, as GGUF has them, become float32."""
    in_blocks = any(weights.info(name).dtype not in ELEMENT_TYPES for name in weights)
    return CastSource(weights, "F32") if in_blocks else weights


def write_mindspore(
    reader: Reader, destination: Path, config: JsonObject | None, dtype: str | None, progress: Progress
) -> None:
    """Write weights and optimizer state into one `.ckpt` file under the names of the MindSpore program.

    After an interruption, the same call goes on where it ended.

    Args:
        reader: a checkpoint with Hugging Face names.
        destination: the file, whose name ends in `.ckpt`: MindSpore loads no other.
        config: the model's config.json.
        dtype: type of all float weights; as they are where None.
        progress: called with bytes done and bytes in all.

    Raises:
        UserError: no family knows the model, or a tensor has no place in the file's format.
    """
    check_ckpt_place(destination)
    keys = _keys(reader.path, _family(reader, config), "mindspore")
    weights: Source = MappedSource(reader.weights, keys)
    weights = weights if dtype is None else CastSource(weights, dtype)
    state = translated(reader.optimizer, reader.weights, keys)
    tensors = CombinedSource.overlay(weights, state, str(reader.path))
    origin = f"{describe_origin(reader.path)} {keys} {dtype}"
    store_file(PlannedCkpt(destination.name, tensors), reader.path, destination, origin, progress=progress)


def _family(reader: Reader, config: JsonObject | None) -> CheckpointFamily:
    path = reader.path
    if config is None:
        hint = f" With {_MODELS}, none is needed: the header tells it." if reader.form == "gguf" else ""
        raise CheckpointError(path, f"has no config.json to tell the model. Allowed: --config FILE.{hint}")
    family = family_of(config)
    if family is None:
        raise UserError(
            f"{path}: no installed model family knows model_type {config.get('model_type')!r}, whose names are needed; "
            f"{_MODELS}"
        )
    return family


def _keys(path: Path, family: CheckpointFamily, form: str) -> KeyMap:
    if form not in family.forms:
        raise UserError(
            f"{path}: the model's family knows no names of form {form}. Allowed: {name_values(family.forms)}."
        )
    return family.forms[form]

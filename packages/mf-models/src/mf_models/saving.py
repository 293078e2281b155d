"""From a cell to a checkpoint directory."""

from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from mindspore import nn

import mf_ckpt
from mf_ckpt import ArraySource, MappedSource, Source
from mf_ckpt.formats.gguf_file import GgufTensors
from mf_ckpt.sources.combined import CombinedSource
from mf_ckpt.sources.renamed import RenamedSource
from mf_config.problems import UserError, name_values
from mf_models.model_config import ModelConfig
from mf_models.registry import family_of
from mf_models.weights import stored_types, to_checkpoint_names

_SHOWN = 4


def save(config: ModelConfig, cell: nn.Cell, destination: str | Path, like: str | Path | None = None) -> None:
    """Write a model that `load` and Hugging Face tools open.

    Args:
        config: the cell's configuration.
        cell: result of `build` or `load`.
        destination: a folder that is not there yet, or an mf checkpoint, which is replaced when all is written.
        like: the Hugging Face directory or mf checkpoint that it was loaded from. Its documents (config.json,
            tokenizer, …), names, element types and division among files are kept, so that weights that nobody changed
            come out byte by byte as they lie there. None: an mf checkpoint with a config.json of its own, the weights
            in the types that the cell holds.

    Raises:
        UserError: `like` is another model, or the destination can't be written to.
    """
    if like is None:
        types = stored_types(config, cell)
        with mf_ckpt.Writer(destination) as writer:
            for name, array in to_checkpoint_names(config, cell):
                writer.add(name, array, types[name])
            writer.add_json("config.json", config.to_hf())
        return
    reader = mf_ckpt.open(like)
    if isinstance(reader.weights, GgufTensors):
        raise UserError(f"{like}: a model is not saved as a GGUF file. Allowed: a directory with safetensors files.")
    mf_ckpt.export_weights(_as_stored(config, cell, reader), reader, destination)


def _as_stored(config: ModelConfig, cell: nn.Cell, reader: mf_ckpt.Reader) -> Source:
    """The weights of a cell under the names, in the types and the order of a checkpoint of the same model.

    Raises:
        UserError: it is a checkpoint of another model.
    """
    family, stored = family_of(config), reader.weights
    weights: Source = ArraySource(dict(to_checkpoint_names(config, cell)))
    # Some models were published under other names, with another model_type.
    published = family.forms(config).get(str((reader.config or {}).get("model_type")))
    if published is not None:
        weights = MappedSource(weights, published)
    ties = family.tied if config.tie_word_embeddings else {}
    copies = {name: ties[name] for name in stored if name not in weights and ties.get(name) in weights}
    own = [name for name in weights if name in stored]
    values = {name: np.asarray(weights[copies.get(name, name)]) for name in [*own, *copies]}
    constant = [name for name in stored if any(fnmatchcase(name, pattern) for pattern in family.ignored_tensors)]
    strange = sorted({*weights, *stored} - values.keys() - set(constant))
    strange += [name for name, array in values.items() if array.shape != stored.info(name).shape]
    if strange:
        shown = name_values(strange[:_SHOWN])
        raise UserError(f"{reader.path}: another model, {len(strange)} tensors differ in name or shape: {shown}.")
    changed = ArraySource(values, {name: stored.info(name).dtype for name in values})
    combined = CombinedSource.overlay(RenamedSource.subset(stored, constant), changed, str(reader.path))
    return RenamedSource.subset(combined, stored)

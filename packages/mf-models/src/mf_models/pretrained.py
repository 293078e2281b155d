"""From a checkpoint directory to a configuration and a cell."""

from fnmatch import fnmatchcase
from pathlib import Path

import mf_ckpt
from mf_ckpt import MappedSource, lora
from mf_ckpt.formats.gguf_file import GgufTensors
from mf_ckpt.sources.renamed import RenamedSource
from mf_config.problems import UserError, name_values
from mf_models.config_keys.classes import SCORE
from mf_models.gguf_config import config_of_gguf
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.new_head import with_new_head
from mf_models.prefix_tuning.stored import has_prefix, put_stored_prefix
from mf_models.registry import config_from_hf, family_of
from mf_models.weights import assign


def load(path: str | Path) -> tuple[ModelConfig, CausalLanguageModel]:
    """Open a Hugging Face model directory, an mf checkpoint or a GGUF file.

    Args:
        path: a directory with config.json and safetensors files, or a file model.gguf. Weights of fewer bits are
            widened to float32.

    Returns:
        The family's configuration, and the cell with the weights in it.

    Raises:
        UserError: the directory, its configuration or its tensors can't be used; every reason is named.
    """
    config = read_config(path)
    cell = build(config)
    assign(config, cell, open_weights(path, config), str(path))
    put_stored_prefix(Path(path), cell)
    return config, cell


def read_config(path: str | Path) -> ModelConfig:
    """The configuration of a model, without its weights.

    Args:
        path: as for `load`.

    Raises:
        UserError: there is none, or no family can do what it asks for.
    """
    reader = mf_ckpt.open(path)
    if isinstance(reader.weights, GgufTensors):
        return config_of_gguf(reader.weights)
    if reader.config is None:
        raise UserError(
            f"{path}: has no config.json. Allowed: a directory with config.json and safetensors files, or a GGUF file."
        )
    return config_from_hf(reader.config, str(Path(path) / "config.json"))


def open_weights(path: str | Path, config: ModelConfig, strategy: str | Path | None = None) -> mf_ckpt.Source:
    """The weights of a checkpoint of any form, under Hugging Face names.

    Args:
        path: what `mf_ckpt.open` opens: an mf checkpoint, whole or cut over ranks, a Hugging Face folder, MindSpore's
            `.ckpt` files or folders of ranks with MindFormers' names, a GGUF file. The LoRA of a folder that holds one
            beside the base is merged in.
        config: the family's configuration.
        strategy: how MindSpore's folders of ranks were cut, as for `mf_ckpt.open`.

    Returns:
        The weights, read when they are asked for. Optimizer state and counters that lie among MindSpore's weights are
        left out.

    Raises:
        UserError: there is no checkpoint, it is damaged, or the adapter doesn't fit the base.
    """
    reader = open_base(path, config, strategy)
    if not lora.is_adapter(Path(path)) or has_prefix(Path(path)):
        return reader
    adapter = lora.open_adapter(path)
    # The base of an adapter with a head of classes may be a language model, which has none.
    base = with_new_head(config, reader.weights, 0, 0.0) if SCORE in adapter.replaced else reader.weights
    ties = family_of(config).tied if config.tie_word_embeddings else {}
    absent = {name: original for name, original in ties.items() if name not in base}
    merged = lora.MergedTensors(base, adapter, absent)
    if merged.untied:
        raise UserError(f"{path}: the adapter changes a tied weight: {', '.join(merged.untied)}. Allowed: merge-lora.")
    return merged


def open_base(path: str | Path, config: ModelConfig, strategy: str | Path | None = None) -> mf_ckpt.Reader:
    """As `open_weights`, but without the adapter that the folder may hold."""
    reader, _ = mf_ckpt.in_hf_form(mf_ckpt.open(path, strategy), config.to_hf())
    return _with_present_names(reader, config)


def _with_present_names(reader: mf_ckpt.Reader, config: ModelConfig) -> mf_ckpt.Reader:
    """A checkpoint under the names that its family writes; some were published under others, with another model_type.

    Raises:
        UserError: it has tensors that these names have no place for.
    """
    family, model_type = family_of(config), str((reader.config or {}).get("model_type"))
    published = family.forms(config).get(model_type)
    if published is None:
        return reader
    keys = published.inverse
    names = [name for name in reader.weights if not any(fnmatchcase(name, p) for p in family.ignored_tensors)]
    strange = [name for name in names if not keys.covers(name)]
    if strange:
        raise UserError(f"{reader.path}: a model of type {model_type} has no tensors {name_values(strange[:4])}.")
    weights = MappedSource(RenamedSource.subset(reader.weights, names), keys)
    return mf_ckpt.Reader(reader.path, weights, step=reader.step)

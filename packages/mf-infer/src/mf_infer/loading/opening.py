"""From a model directory to a runner: the one place that prepares MindSpore and loads weights."""

from dataclasses import dataclass
from pathlib import Path

import mf_ckpt
from mf_ckpt import lora
from mf_ckpt.formats.gguf_file import is_gguf, open_gguf
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_infer.engine.chunks import Runner
from mf_infer.engine.fused_runner import FusedRunner
from mf_infer.engine.runner import CellRunner
from mf_infer.loading.int8 import LEFT_AS_IT_IS, NO_PRODUCT, Integers, fill, no_integers, rounded
from mf_models.config_keys.execution import CacheKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.quantization import QuantizationSection
from mf_models.device import prepare
from mf_models.fused_decoding import covers
from mf_models.gguf_blocks import StoredBlocks
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.prefix_tuning.stored import has_prefix, put_stored_prefix
from mf_models.pretrained import open_weights, read_config
from mf_models.registry import family_of
from mf_models.weights import fitting, shapes_of, tell_of_widening

BLOCK_SIZE, NUM_BLOCKS = 16, 512
"""Of the cache, where the family has no keys for them: MindFormers' defaults."""

Sizes = tuple[int, int, int]
"""Blocks of the cache, that of nobody among them, tokens of a block, and most tokens of a row."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from.

    Attributes:
        path: a checkpoint that `mf_models.pretrained.open_weights` opens.
        config: the family's configuration, which the weights must fit; None takes the one at the path.
        adapter: a LoRA of Hugging Face PEFT that is merged in, or a prefix that a run has trained; None for neither.
        weight_type: `int8` rounds the matrices of the blocks and the head to integers.
    """

    path: Path
    config: ModelConfig | None = None
    adapter: Path | None = None
    weight_type: str = "float32"


def open_runner(source: Source, context: ContextSection, num_blocks: int | None) -> tuple[ModelConfig, Runner]:
    """Prepare the device and load a model.

    Args:
        source: the model.
        context: the device and MindSpore's settings, which hold for the whole process.
        num_blocks: blocks of the cache; None takes the configuration's.
    Returns:
        The configuration and the runner.
    Raises:
        UserError: the device, the configuration or the adapter can't be used, or the tensors don't fit.
    """
    config, sizes = configure(source, context, num_blocks)
    model, weights = build(config), stored_weights(source, config)
    cells = fitting(config, shapes_of(model), weights, str(source.path))
    tell_of_widening(weights)
    fill(model, cells, _integers(source, config, model, cells))
    for folder in prefixes(source):
        put_stored_prefix(folder, model)
    model.set_train(False)
    runner = FusedRunner if covers(model) else CellRunner
    return config, runner(model, *sizes)


def _integers(source: Source, config: ModelConfig, model: CausalLanguageModel, cells: mf_ckpt.Source) -> Integers:
    """Which of a model's matrices are integers: those that are asked for, or that a GGUF file has so.

    Args:
        source: the model.
        config: its configuration.
        model: its network, without weights. Blocks are kept where the fused decoder computes it.
        cells: its weights, under the names of its parameters.
    """
    if (section := integers_of(config)) is not None:
        return rounded(cells, (*LEFT_AS_IT_IS, *section.modules_to_not_convert))
    if source.weight_type == "int8":
        return rounded(cells, NO_PRODUCT)
    if not is_gguf(source.path) or prefixes(source) or not covers(model):
        return no_integers
    adapter = None if source.adapter is None else lora.open_adapter(source.adapter)
    blocks = StoredBlocks(open_gguf(source.path), config, (*adapter.pairs, *adapter.replaced) if adapter else ())
    return lambda _layer, parameter: blocks.get(parameter)


def configure(source: Source, context: ContextSection, num_blocks: int | None) -> tuple[ModelConfig, Sizes]:
    """Prepare the device, and find out what a model is and how large its cache gets; see `open_runner`."""
    prepare(context)
    config = source.config or read_config(source.path)
    if config.num_labels is not None:
        raise UserError(
            f"{source.path}: its network finds classes and writes no text. "
            "Allowed: run_mode predict, or mf_infer.classifier.Classifier; or a language model."
        )
    blocks, block_size = cache_sizes(config)
    # One block more: that of nobody.
    return config, ((num_blocks or blocks) + 1, block_size, config.max_positions)


def integers_of(config: ModelConfig) -> QuantizationSection | None:
    """What a configuration says of weights of integers, None where it asks for none."""
    section = config.quantization_config if isinstance(config, AdaptationKeys) else None
    return section if section is not None and section.weight_dtype == "int8" else None


def prefixes(source: Source) -> list[Path]:
    """Folders with prefixes that runs have trained."""
    return [folder for folder in (source.path, source.adapter) if folder is not None and has_prefix(folder)]


def stored_weights(source: Source, config: ModelConfig) -> mf_ckpt.Source:
    """The weights of a model under Hugging Face names, with the adapter merged in."""
    weights = open_weights(source.path, config)
    if source.adapter is None or has_prefix(source.adapter):
        return weights
    ties = family_of(config).tied if config.tie_word_embeddings else {}
    absent = {name: original for name, original in ties.items() if name not in weights}
    return lora.MergedTensors(weights, lora.open_adapter(source.adapter), absent)


def cache_sizes(config: ModelConfig) -> tuple[int, int]:
    """Number of blocks and tokens of a block, as a configuration asks for them."""
    if isinstance(config, CacheKeys):
        return config.num_blocks, config.block_size
    return NUM_BLOCKS, BLOCK_SIZE

"""From a model directory to a runner: the one place that prepares MindSpore and loads weights."""

from dataclasses import dataclass
from pathlib import Path

from mf_ckpt import lora
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_infer.fused_runner import FusedRunner
from mf_infer.int8 import LEFT_AS_IT_IS, quantize, quantize_with_head
from mf_infer.runner import CellRunner
from mf_models.config_keys.execution import CacheKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.device import prepare
from mf_models.fused_decoding import covers
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.pretrained import open_weights, read_config
from mf_models.registry import family_of
from mf_models.weights import assign

BLOCK_SIZE, NUM_BLOCKS = 16, 512
"""Of the cache, where the family has no keys for them: MindFormers' defaults."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from.

    Attributes:
        path: a checkpoint that `mf_models.pretrained.open_weights` opens.
        config: the family's configuration, which the weights must fit; None takes the one at the path.
        adapter: a folder of Hugging Face PEFT that is merged in, or None.
        weight_type: `int8` rounds the matrices of the blocks and the head to integers.
    """

    path: Path
    config: ModelConfig | None = None
    adapter: Path | None = None
    weight_type: str = "float32"


def open_runner(source: Source, context: ContextSection, num_blocks: int | None) -> tuple[ModelConfig, CellRunner]:
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
    prepare(context)
    config = source.config or read_config(source.path)
    if config.num_labels is not None:
        raise UserError(
            f"{source.path}: its network finds classes and writes no text. "
            "Allowed: run_mode predict, or mf_infer.classifier.Classifier; or a language model."
        )
    model = build(config)
    weights = open_weights(source.path, config)
    if source.adapter is not None:
        ties = family_of(config).tied if config.tie_word_embeddings else {}
        absent = {name: original for name, original in ties.items() if name not in weights}
        weights = lora.MergedTensors(weights, lora.open_adapter(source.adapter), absent)
    assign(config, model, weights, str(source.path))
    section = config.quantization_config if isinstance(config, AdaptationKeys) else None
    if section is not None and section.weight_dtype == "int8":
        quantize(model, (*LEFT_AS_IT_IS, *section.modules_to_not_convert))
    elif source.weight_type == "int8":
        quantize_with_head(model)
    model.set_train(False)
    blocks, block_size = cache_sizes(config)
    runner = FusedRunner if covers(model) else CellRunner
    # One block more: that of nobody.
    return config, runner(model, (num_blocks or blocks) + 1, block_size, config.max_positions)


def cache_sizes(config: ModelConfig) -> tuple[int, int]:
    """Number of blocks and tokens of a block, as a configuration asks for them."""
    if isinstance(config, CacheKeys):
        return config.num_blocks, config.block_size
    return NUM_BLOCKS, BLOCK_SIZE

"""From a model directory to a runner: the one place that prepares MindSpore and loads weights."""

import atexit
from dataclasses import dataclass
from pathlib import Path

import mf_ckpt
from mf_ckpt import lora
from mf_ckpt.formats.gguf_file import is_gguf
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_infer.chunks import Runner
from mf_infer.fused_runner import FusedRunner
from mf_infer.int8 import LEFT_AS_IT_IS, keep_integers_and_head, quantize, quantize_with_head
from mf_infer.leading import LeadingRunner
from mf_infer.runner import CellRunner
from mf_infer.team import Team
from mf_models.config_keys.execution import CacheKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.quantization import QuantizationSection
from mf_models.device import prepare
from mf_models.fused_decoding import covers
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.prefix_tuning.stored import has_prefix, put_stored_prefix
from mf_models.pretrained import open_weights, read_config
from mf_models.registry import config_from_hf, family_of
from mf_models.weights import assign, fitting, shapes_of, tell_of_widening

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


def open_runner(
    source: Source, context: ContextSection, num_blocks: int | None, processes: int = 1
) -> tuple[ModelConfig, Runner]:
    """Prepare the device and load a model.

    Args:
        source: the model.
        context: the device and MindSpore's settings, which hold for the whole process.
        num_blocks: blocks of the cache; None takes the configuration's.
        processes: how many compute the model; the others were started by `followers.start_followers`.
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
    blocks, block_size = cache_sizes(config)
    # One block more: that of nobody.
    sizes = ((num_blocks or blocks) + 1, block_size, config.max_positions)
    if processes > 1:
        return config, _lead(source, config, sizes)
    model = build(config)
    assign(config, model, _stored(source, config), str(source.path))
    for folder in _prefixes(source):
        put_stored_prefix(folder, model)
    if (section := _integers_of(config)) is not None:
        quantize(model, (*LEFT_AS_IT_IS, *section.modules_to_not_convert))
    elif source.weight_type == "int8":
        quantize_with_head(model)
    elif is_gguf(source.path) and covers(model):
        keep_integers_and_head(model)
    model.set_train(False)
    runner = FusedRunner if covers(model) else CellRunner
    return config, runner(model, *sizes)


def open_piece(team: Team) -> CellRunner:
    """Load a piece of the model that the first process of a team has chosen.

    Args:
        team: this process's team; the first process is in `open_runner`.
    """
    path, adapter, settings, sizes = team.hear()
    source = Source(Path(path), config_from_hf(settings, path), Path(adapter) if adapter else None)
    assert source.config is not None
    return _piece(team, source, source.config, sizes)


def _integers_of(config: ModelConfig) -> QuantizationSection | None:
    """What a configuration says of weights of integers, None where it asks for none."""
    section = config.quantization_config if isinstance(config, AdaptationKeys) else None
    return section if section is not None and section.weight_dtype == "int8" else None


def _prefixes(source: Source) -> list[Path]:
    """Folders with prefixes that runs have trained."""
    return [folder for folder in (source.path, source.adapter) if folder is not None and has_prefix(folder)]


def _lead(source: Source, config: ModelConfig, sizes: Sizes) -> LeadingRunner:
    """This process's piece of a model, and what tells the other processes of the job to open theirs."""
    if _integers_of(config) is not None:
        raise UserError(
            "tensor_parallel: quantization_config asks for integers. Allowed: float32 weights, or 1 process."
        )
    if _prefixes(source):
        raise UserError(
            "tensor_parallel: a prefix does not go with it. Allowed: an adapter that is merged in, or 1 process."
        )
    tell_of_widening(_stored(source, config))
    team = Team()
    team.hear([str(source.path), str(source.adapter or ""), config.to_hf(), sizes])
    runner = LeadingRunner(_piece(team, source, config, sizes), team)
    atexit.register(runner.end)
    return runner


def _piece(team: Team, source: Source, config: ModelConfig, sizes: Sizes) -> CellRunner:
    model = build(config)
    plan = team.plan(config, model)
    team.fill(model, plan, fitting(config, shapes_of(model), _stored(source, config), str(source.path)))
    model.set_train(False)
    # Before the layers are connected: the cache asks them for their sizes.
    runner = CellRunner(model, *sizes)
    team.connect_layers(model, plan)
    return runner


def _stored(source: Source, config: ModelConfig) -> mf_ckpt.Source:
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

"""From a model directory to a runner: the one place that prepares MindSpore and loads weights."""

from pathlib import Path

import mindspore as ms

import mf_ckpt
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_infer.runner import CellRunner
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.pretrained import load
from mf_models.weights import assign


def prepare(context: ContextSection) -> None:
    """Hand the `context` section to MindSpore.

    Raises:
        UserError: there is no such device here.
    """
    try:
        ms.set_device(context.device_target)
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"context.device_target: {context.device_target} can't be used here: {reason}") from error
    ms.set_context(mode=ms.GRAPH_MODE if context.is_graph_mode else ms.PYNATIVE_MODE)
    ms.set_recursion_limit(context.max_call_depth)
    if context.enable_compile_cache:
        Path(context.compile_cache_path).mkdir(parents=True, exist_ok=True)
        ms.set_context(enable_compile_cache=True, compile_cache_path=context.compile_cache_path)
    if context.save_graphs:
        ms.set_context(save_graphs=True, save_graphs_path=context.save_graphs_path)


def open_runner(path: Path, config: ModelConfig | None, max_batch_size: int) -> tuple[ModelConfig, CellRunner]:
    """Load a model.

    Args:
        path: a directory that `mf_ckpt.open` opens.
        config: the family's configuration, which the weights must fit; None takes the one in the directory.
        max_batch_size: most requests computed together.
    Returns:
        The configuration and the runner.
    Raises:
        UserError: the configuration can't be used, or the tensors don't fit it.
    """
    if config is None:
        config, model = load(path)
    else:
        model = build(config)
        assign(config, model, mf_ckpt.open(path), str(path))
    model.set_train(False)
    return config, CellRunner(model, max_batch_size, config.max_positions)

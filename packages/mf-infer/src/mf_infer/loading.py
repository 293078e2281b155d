"""From a model directory to a runner: the one place that loads weights."""

from pathlib import Path

import mf_ckpt
from mf_infer.runner import CellRunner
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.pretrained import load
from mf_models.weights import assign


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

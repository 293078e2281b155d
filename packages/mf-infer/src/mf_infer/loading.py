"""From a model directory to a runner: the one place that prepares MindSpore and loads weights."""

from pathlib import Path

from mf_config.sections.context import ContextSection
from mf_infer.runner import CellRunner
from mf_models.device import prepare
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.pretrained import load, open_weights
from mf_models.weights import assign


def open_runner(
    path: Path, config: ModelConfig | None, context: ContextSection, max_batch_size: int
) -> tuple[ModelConfig, CellRunner]:
    """Prepare the device and load a model.

    Args:
        path: a directory that `mf_ckpt.open` opens.
        config: the family's configuration, which the weights must fit; None takes the one in the directory.
        context: the device and MindSpore's settings, which hold for the whole process.
        max_batch_size: most requests computed together.
    Returns:
        The configuration and the runner.
    Raises:
        UserError: the device or the configuration can't be used, or the tensors don't fit it.
    """
    prepare(context)
    if config is None:
        config, model = load(path)
    else:
        model = build(config)
        assign(config, model, open_weights(path, config), str(path))
    model.set_train(False)
    return config, CellRunner(model, max_batch_size, config.max_positions)

"""From a checkpoint directory to a configuration and a cell."""

from pathlib import Path

import mf_ckpt
from mf_config.problems import UserError
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.registry import config_from_hf
from mf_models.weights import assign


def load(path: str | Path) -> tuple[ModelConfig, CausalLanguageModel]:
    """Open a Hugging Face model directory or an mf checkpoint.

    Args:
        path: a directory with config.json and safetensors files. bfloat16 and float16 weights are widened to float32.

    Returns:
        The family's configuration, and the cell with the weights in it.

    Raises:
        UserError: the directory, its configuration or its tensors can't be used; every reason is named.
    """
    reader = mf_ckpt.open(path)
    if reader.config is None:
        raise UserError(f"{path}: has no config.json. Allowed: a directory with config.json and safetensors files.")
    config = config_from_hf(reader.config, str(Path(path) / "config.json"))
    cell = build(config)
    assign(config, cell, reader, str(path))
    return config, cell

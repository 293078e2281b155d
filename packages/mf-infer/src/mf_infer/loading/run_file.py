"""The model that a run file describes, for weights without a configuration of their own."""

from pathlib import Path

from mf_config.decoding import decode
from mf_config.document import load
from mf_data.opening import open_tokenizer
from mf_data.tokenizers.base import Tokenizer
from mf_models.model_config import ModelConfig


def read_run_file(file: str | Path) -> tuple[ModelConfig, Tokenizer | None]:
    """Read the network and the tokenizer of a run file.

    Args:
        file: a run configuration, YAML.
    Returns:
        The section `model.model_config`, and the tokenizer of `processor`, None where the file has none.
    Raises:
        UserError: the file, or the tokenizer that it names, can't be read.
    """
    config = decode(load(file))
    network: ModelConfig = config.model.model_config
    return network, open_tokenizer(config.tokenizer, None) if config.tokenizer else None

"""The files that a checkpoint keeps beside weights and state, so that it can be used by itself."""

import json
import tempfile
from pathlib import Path

from mf_config import RunConfig
from mf_config.dump import to_yaml
from mf_data.tokenizers.base import Tokenizer
from mf_models.generation_config import GENERATION_FILE, generation_config


def files_of_config(config: RunConfig) -> dict[str, bytes]:
    """The run configuration, and its settings of generation where it has any: name to content."""
    generation = generation_config(config.model.model_config)
    settings = {} if generation is None else {GENERATION_FILE: json.dumps(generation, indent=2).encode()}
    return {"run.yaml": to_yaml(config).encode(), **settings}


def files_of_tokenizer(tokenizer: Tokenizer) -> dict[str, bytes]:
    """The files of a tokenizer: name to content."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(Path(folder))
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}

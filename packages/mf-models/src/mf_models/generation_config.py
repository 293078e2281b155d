"""The keys of generation as the generation_config.json of Hugging Face has them; imports no MindSpore."""

from dataclasses import fields
from typing import Any

from mf_config.schema import declarations
from mf_models.config_keys.generation import GenerationKeys
from mf_models.config_keys.tokens import TokenKeys
from mf_models.hf_decoder import tokens_to_hf
from mf_models.model_config import ModelConfig

GENERATION_FILE = "generation_config.json"


def generation_config(config: ModelConfig) -> dict[str, Any] | None:
    """Content of generation_config.json.

    Args:
        config: a family's configuration.

    Returns:
        What it says of generation; None where it says nothing beyond the defaults of its family, or finds classes.
    """
    defaults = declarations(type(config))
    if not isinstance(config, GenerationKeys) or not isinstance(config, TokenKeys) or config.num_labels is not None:
        return None
    if all(getattr(config, one.name) == defaults[one.name].default for one in fields(GenerationKeys)):
        return None
    given = {
        **tokens_to_hf(config),
        # Beam search takes the likeliest answer.
        "do_sample": config.do_sample and config.num_beams == 1,
        "max_length": config.max_length or config.max_decode_length,
        "max_new_tokens": config.max_new_tokens,
        "min_length": config.min_length,
        "min_new_tokens": config.min_new_tokens,
        "num_beams": config.num_beams,
        "repetition_penalty": config.repetition_penalty,
        "temperature": config.temperature,
        "top_k": config.top_k,
        "top_p": config.top_p,
    }
    return {name: value for name, value in given.items() if value is not None}

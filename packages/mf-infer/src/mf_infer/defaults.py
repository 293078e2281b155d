"""Settings of a request where the person gives none: those that the model's configuration names."""

from collections.abc import Mapping
from typing import Any

from mf_config.problems import UserError
from mf_infer.sampling_params import SamplingParams
from mf_models.model_config import ModelConfig


def with_defaults(keys: ModelConfig, prompt_tokens: int, given: Mapping[str, Any]) -> SamplingParams:
    """Fill up the settings of a request.

    Args:
        keys: the model's configuration.
        prompt_tokens: length of the prompt.
        given: settings that the person chose, by their names in `SamplingParams`; they win.
    Returns:
        All settings.
    Raises:
        UserError: a setting can't be used, or the prompt fills max_decode_length already.
    """
    settings: dict[str, Any] = {
        "temperature": keys.temperature if keys.do_sample else 0.0,
        "top_k": keys.top_k,
        "top_p": keys.top_p,
        "repetition_penalty": keys.repetition_penalty,
        "max_tokens": keys.max_decode_length - prompt_tokens,
    }
    settings.update(given)
    if "max_tokens" not in given and settings["max_tokens"] < 1:
        raise UserError(
            f"max_decode_length: {keys.max_decode_length} leaves no room for an answer to a prompt of {prompt_tokens} "
            f"tokens. Allowed: from {prompt_tokens + 1}."
        )
    return SamplingParams(**settings)

"""Settings where the person gives none: those of generation_config.json, or of the model's configuration."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from mf_config.problems import UserError
from mf_infer.sampling_params import SamplingParams
from mf_models.model_config import ModelConfig

GENERATION_FILE = "generation_config.json"

_SAME_NAMES = (
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "repetition_penalty",
    "no_repeat_ngram_size",
    "num_beams",
    "length_penalty",
)
"""Keys of generation_config.json that are settings of `SamplingParams` by the same names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationDefaults:
    """What a model says of generation.

    Attributes:
        settings: by their names in `SamplingParams`.
        end_ids: end tokens beside those of the model's configuration.
        max_length: most tokens of prompt and answer together; the model's context where None.
        max_new_tokens: most tokens of the answer, over which it wins; None for none.
        min_length: fewest tokens of prompt and answer together.
        min_new_tokens: fewest tokens of the answer.
    """

    settings: Mapping[str, Any]
    end_ids: tuple[int, ...] = ()
    max_length: int | None = None
    max_new_tokens: int | None = None
    min_length: int = 0
    min_new_tokens: int = 0
    name_of_length: str = field(default="max_length")

    @classmethod
    def of_keys(cls, keys: ModelConfig) -> Self:
        """Those of a run file's `model.model_config`."""
        draws = keys.do_sample and keys.num_beams == 1
        settings = {
            "temperature": keys.temperature if draws else 0.0,
            "top_k": keys.top_k,
            "top_p": keys.top_p,
            "repetition_penalty": keys.repetition_penalty,
            "num_beams": keys.num_beams,
        }
        return cls(
            settings=settings,
            max_length=keys.max_length or keys.max_decode_length,
            max_new_tokens=keys.max_new_tokens,
            min_length=keys.min_length,
            min_new_tokens=keys.min_new_tokens or 0,
            name_of_length="max_length" if keys.max_length else "max_decode_length",
        )

    @classmethod
    def of_file(cls, file: Path) -> Self:
        """Those of a generation_config.json; what is missing has the meaning that Hugging Face's `generate` gives it.

        Raises:
            UserError: the file can't be read.
        """
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{file}: can't be read: {error}.") from error
        if not isinstance(content, dict):
            raise UserError(f"{file}: is no JSON object. Allowed: the settings of generation.")
        data = {name: value for name, value in content.items() if value is not None}
        settings = {name: data[name] for name in _SAME_NAMES if name in data}
        if not data.get("do_sample", False) or data.get("num_beams", 1) > 1:
            settings["temperature"] = 0.0
        end = data.get("eos_token_id", ())
        return cls(
            settings={**settings, "early_stopping": data.get("early_stopping") is True},
            end_ids=tuple(end) if isinstance(end, list) else (end,) if end != () else (),
            max_length=data.get("max_length"),
            max_new_tokens=data.get("max_new_tokens"),
            min_length=data.get("min_length", 0),
            min_new_tokens=data.get("min_new_tokens", 0),
        )

    def params(self, prompt_tokens: int, context: int, given: Mapping[str, Any]) -> SamplingParams:
        """Fill up the settings of a request.

        Args:
            prompt_tokens: length of the prompt.
            context: most tokens of the model.
            given: settings that the person chose, by their names in `SamplingParams`; they win.
        Returns:
            All settings.
        Raises:
            UserError: a setting can't be used, or the prompt fills max_length already.
        """
        length = self.max_length or context
        most = self.max_new_tokens or length - prompt_tokens
        if "max_tokens" not in given and most < 1:
            raise UserError(
                f"{self.name_of_length}: {length} leaves no room for an answer to a prompt of {prompt_tokens} "
                f"tokens. Allowed: from {prompt_tokens + 1}."
            )
        settings = {**self.settings, "max_tokens": most, **given}
        least = max(self.min_new_tokens, self.min_length - prompt_tokens, 0)
        return SamplingParams(**{"min_tokens": min(least, settings["max_tokens"]), **settings})

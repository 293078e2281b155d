"""The keys that processors share."""

from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import PREDICT_MODES, ComponentOf, key

_OWN_IDS = "mf hands ids to the model itself"
_OWN_LENGTH = "a prompt keeps its own length"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorKeys:
    """The tokenizer, and the shape of what a prompt becomes."""

    tokenizer: Annotated[Any, ComponentOf("tokenizer")] | None = key(
        "The tokenizer of the run wherever a data set has none of its own, chosen by type.", None
    )
    return_tensors: str = key(
        "The kind of tensors that a processor gives back.", "ms", modes=PREDICT_MODES, inert=_OWN_IDS
    )
    max_length: int | None = key(
        "The most tokens of a prompt.", None, minimum=1, unit="tokens", modes=PREDICT_MODES, inert=_OWN_LENGTH
    )
    padding: str | None = key(
        "Whether prompts are filled up to max_length.", None, modes=PREDICT_MODES, inert=_OWN_LENGTH
    )

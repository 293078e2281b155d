"""Copies of the experts that get the most tokens."""

from dataclasses import dataclass
from typing import Any

from mf_config.schema import component, key
from mf_train.callbacks.no_effect import NoEffect


# MindFormers 1.3 knows this callback by the misspelt name only.
@component(
    "callback",
    "ColdHotExpertMonitor",
    "ColdHotExpertMointor",
    inert="experts stay where they are, which changes the speed of a step and not its result",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class ColdHotExpertMonitor(NoEffect):
    """Hold the experts that get the most tokens on every device."""

    moe_config: dict[str, Any] | None = key("The experts' section.", None)
    hidden_size: int | None = key("Width of the model.", None, minimum=1)
    ffn_hidden_size: int | None = key("Inner width of an expert.", None, minimum=1)
    expert_parallel: int | None = key("Devices over which the experts are spread.", None, minimum=1)
    model_parallel: int | None = key("Devices over which each expert is split.", None, minimum=1)
    save_checkpoint_steps: int | None = key("Steps from one checkpoint to the next.", None, minimum=1, unit="steps")

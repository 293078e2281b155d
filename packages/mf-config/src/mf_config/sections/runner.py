"""`runner_config` and `runner_wrapper`: how long and in what batches a run trains, and what guards a step."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import key

_ONE_STEP_A_LAUNCH = "every step is launched by itself, so that each one can be logged"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSection:
    """Length and batch of a run."""

    epochs: int = key("Passes over the training rows.", 1, minimum=1)
    batch_size: int = key("Rows that each data-parallel rank takes in one step.", 1, minimum=1)
    sink_mode: bool = key("Hand a whole chunk of steps to the device at once.", True, inert=_ONE_STEP_A_LAUNCH)
    sink_size: int = key(
        "Steps of one chunk in sink mode; -1 for the whole epoch.", -1, minimum=-1, inert=_ONE_STEP_A_LAUNCH
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LossScaleSection:
    """`scale_sense` as a section: a loss scale that may follow the overflows of float16 gradients."""

    type: Literal["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell"] = key(
        "Whether the scale moves (dynamic) or stays (fixed).", "DynamicLossScaleUpdateCell"
    )
    loss_scale_value: float = key("The first loss scale.", 65536.0, above=0)
    scale_factor: float = key("The dynamic scale is divided or multiplied by this.", 2.0, above=1)
    scale_window: int = key("Steps without overflow after which the dynamic scale grows.", 1000, minimum=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapperSection:
    """What happens between the gradients and the optimizer."""

    type: Literal["MFTrainOneStepCell"] = key("The training step; there is one.", "MFTrainOneStepCell")
    scale_sense: float | LossScaleSection = key(
        "Factor on the loss while gradients are computed, a number or a section; a step whose gradients overflow "
        "changes nothing.",
        1.0,
        above=0,
    )
    use_clip_grad: bool = key("Scale the gradients down where their global norm exceeds max_grad_norm.", False)
    max_grad_norm: float = key("The largest global norm of the gradients; used with use_clip_grad.", 1.0, above=0)

"""`runner_config` and `runner_wrapper`: how long and in what batches a run trains, and what guards a step."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mf_config.schema import EVAL_MODES, TRAIN_MODES, key

_ONE_STEP_A_LAUNCH = "every step is launched by itself, so that each one can be logged"
_COMPUTED = "it follows from the rest of the file"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSection:
    """Length and batch of a run."""

    epochs: int = key("Passes over the training rows.", 1, minimum=1, modes=TRAIN_MODES)
    batch_size: int = key(
        "Rows that each data-parallel rank takes in one step.", 1, minimum=1, modes=TRAIN_MODES + EVAL_MODES
    )
    gradient_accumulation_steps: int = key(
        "Batches whose gradients are added up before the weights move.",
        1,
        minimum=1,
        modes=TRAIN_MODES,
    )
    sink_mode: bool = key(
        "Have MindSpore's data pipeline carry batches into a queue of the device ahead of their steps.",
        True,
        modes=TRAIN_MODES,
        inert_on={"CPU": "a CPU has no queue of its own: every step is handed its batch"},
    )
    sink_size: int = key(
        "Steps of one launch in sink mode; -1 for the whole epoch.",
        -1,
        minimum=-1,
        unit="steps",
        inert=_ONE_STEP_A_LAUNCH,
    )
    initial_epoch: int = key("Epoch to continue at.", 0, minimum=0, inert="resume_training finds it")
    initial_step: int = key("Step to continue at.", 0, minimum=0, inert="resume_training finds it")
    stop_step: int = key(
        "Steps, counted from the beginning of the run, after which it stops; 0 for none.",
        0,
        minimum=0,
        unit="steps",
        modes=TRAIN_MODES,
    )
    step_scale: float = key("Old global batch over the new one.", 1.0, above=0, inert=_COMPUTED)
    global_batch_size: int = key("Rows of one step over all ranks.", 0, minimum=0, inert=_COMPUTED)
    origin_epochs: int = key("Epochs before sink mode rewrote them.", 0, minimum=0, inert=_COMPUTED)
    num_classes: int = key("Classes of an image task.", 0, minimum=0, inert="mf trains language models")
    image_size: int = key("Width of the images.", 0, minimum=0, inert="mf trains language models")

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What is wrong: key name, what, what is allowed."""
        if self.sink_size == 0:
            yield "sink_size", "0 is out of range", "-1, or from 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossScaleSection:
    """`scale_sense` as a section: a loss scale that may follow the overflows of float16 gradients."""

    type: Literal["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "AdaptiveLossScaleUpdateCell"] = key(
        "Whether the scale moves (dynamic), stays (fixed) or moves over windows that change (adaptive).",
        "DynamicLossScaleUpdateCell",
    )
    loss_scale_value: float = key("The first loss scale.", 65536.0, above=0)
    scale_factor: float = key("The dynamic scale is divided or multiplied by this.", 2.0, minimum=1)
    scale_window: int = key("Steps without overflow after which the dynamic scale grows.", 1000, minimum=1)
    max_scale_window: int = key("Longest window of the adaptive scale; no other reads it.", 1000, minimum=1)
    min_scale_window: int = key("Shortest window of the adaptive scale; no other reads it.", 20, minimum=1)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What is wrong: key name, what, what is allowed."""
        if self.min_scale_window > self.max_scale_window:
            what = f"{self.min_scale_window} exceeds max_scale_window {self.max_scale_window}"
            yield "min_scale_window", what, f"up to {self.max_scale_window}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapperSection:
    """What happens between the gradients and the optimizer."""

    type: Literal[
        "MFTrainOneStepCell",
        "TrainOneStepCell",
        "MFPipelineWithLossScaleCell",
        "mf_wrapper",
        "pipeline_wrapper",
        "wrapper",
        "loss_scale_wrapper",
    ] = key("The training step.", "MFTrainOneStepCell", inert="there is one training step; the layout decides its form")
    scale_sense: float | LossScaleSection = key(
        "Factor on the loss while gradients are computed, a number or a section; a step whose gradients overflow "
        "changes nothing.",
        1.0,
        above=0,
    )
    use_clip_grad: bool = key("Scale the gradients down where their global norm exceeds max_grad_norm.", False)
    max_grad_norm: float = key("The largest global norm of the gradients.", 1.0, above=0, needs="use_clip_grad")
    clip_grad_value: float | None = key(
        "The largest magnitude of an element of the gradients, to which it is cut after use_clip_grad; null for any.",
        None,
        above=0,
    )
    micro_batch_num: int = key(
        "Micro batches of a pipeline.", 1, minimum=1, inert="parallel_config.micro_batch_num counts"
    )
    local_norm: bool = key(
        "Log the norm of each parameter's gradient, unless monitor_config says what to record.", False
    )
    sens: float = key("Constant loss scale of TrainOneStepCell.", 1.0, above=0, inert="scale_sense counts")
    enable_check_overflow: bool = key(
        "Look for overflows.", True, inert="overflows are always looked for: without, they would ruin the weights"
    )

"""Whether the device can compute in the precision that the file asks for."""

from collections.abc import Iterator

from mf_config.problems import Severity
from mf_config.rules.rule import Checked, Finding, rule


@rule("precision-of-the-device", Severity.WARNING, "model.model_config.compute_dtype", "context.device_target")
def precision_of_the_device(checked: Checked) -> Iterator[Finding]:
    """The CPU computes and keeps weights in float32."""
    if checked.config.context.device_target != "CPU":
        return
    types = {"compute_dtype": checked.model("compute_dtype"), "param_init_type": checked.model("param_init_type")}
    for name, asked in types.items():
        path = f"model.model_config.{name}"
        if asked not in (None, "float32") and checked.is_written(path):
            yield Finding(path, f"{asked} is taken as float32 on CPU", "float32, or device_target Ascend")


@rule("loss-scale-for-float16", Severity.NOTE, "runner_wrapper.scale_sense", "model.model_config.compute_dtype")
def loss_scale_for_float16(checked: Checked) -> Iterator[Finding]:
    """A moving loss scale keeps float16 gradients from vanishing; other types need none."""
    scale, asked = checked.config.runner_wrapper.scale_sense, checked.model("compute_dtype")
    moves = getattr(scale, "type", "") in ("DynamicLossScaleUpdateCell", "AdaptiveLossScaleUpdateCell")
    if checked.trains and moves and asked in ("float32", "bfloat16"):
        yield Finding("runner_wrapper.scale_sense", f"a moving loss scale is of no use in {asked}", "1.0")


RULES = (precision_of_the_device, loss_scale_for_float16)

"""Whether the device can compute in the precision that the file asks for."""

from collections.abc import Iterator

from mf_config.problems import Severity, name_values
from mf_config.rules.rule import Checked, Finding, rule

_TYPES = (
    "compute_dtype",
    "param_init_type",
    "embedding_init_type",
    "layernorm_compute_type",
    "softmax_compute_type",
    "rotary_dtype",
)
"""Keys of a model that ask for number types, the most important one first."""


@rule("precision-of-the-device", Severity.WARNING, "model.model_config.compute_dtype", "context.device_target")
def precision_of_the_device(checked: Checked) -> Iterator[Finding]:
    """The CPU computes and keeps weights in float32; one finding speaks of all keys that ask for other types."""
    if checked.config.context.device_target != "CPU":
        return
    paths = [f"model.model_config.{name}" for name in _TYPES if checked.model(name) not in (None, "float32")]
    written = [path for path in paths if checked.is_written(path)]
    if written:
        names = name_values(path.rpartition(".")[2] for path in written)
        what = f"all is float32 on CPU, whatever is asked for in {names}"
        yield Finding(written[0], what, "float32, or device_target Ascend")


@rule("loss-scale-for-float16", Severity.NOTE, "runner_wrapper.scale_sense", "model.model_config.compute_dtype")
def loss_scale_for_float16(checked: Checked) -> Iterator[Finding]:
    """A moving loss scale keeps float16 gradients from vanishing; other types need none."""
    scale, asked = checked.config.runner_wrapper.scale_sense, checked.model("compute_dtype")
    moves = getattr(scale, "type", "") in ("DynamicLossScaleUpdateCell", "AdaptiveLossScaleUpdateCell")
    if checked.trains and moves and asked in ("float32", "bfloat16"):
        yield Finding("runner_wrapper.scale_sense", f"a moving loss scale is of no use in {asked}", "1.0")


RULES = (precision_of_the_device, loss_scale_for_float16)

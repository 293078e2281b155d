"""What the optimizers share that keep the second moment of a matrix as one mean a row and one a column."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import key
from mf_train.optimizer import Shape, Slot

RELATIVE_STEP = "Take the rate from the number of updates where neither learning_rate nor lr_schedule says it."


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoredKeys:
    """Clipping of the update, decay of the moments, and rates relative to the step or to the parameter."""

    learning_rate: float | None = key("Constant rate; used where there is no lr_schedule.", None, above=0)
    clip_threshold: float = key("Largest root mean square of an update.", 1.0, above=0)
    decay_rate: float = key("Exponent by which the second moment's decay nears 1.", 0.8, above=0)
    beta1: float | None = key("Decay of the first moment.", 0.9, minimum=0)
    weight_decay: float = key("Decay of matrices, relative to the rate.", 0.0, minimum=0)
    relative_step: bool = key(RELATIVE_STEP, False)
    warmup_init: bool = key("Begin with small relative rates; with relative_step.", False)
    compression: bool = key("Keep the moments in float16.", False, allowed=(False,))
    loss_scale: float = key(
        "What gradients are divided by.", 1.0, above=0, inert="runner_wrapper.scale_sense says the loss scale"
    )

    def rate(self, update: int, run_updates: int) -> float:
        """The rate where there is no schedule; see `mf_train.schedule.LearningRate.rate`.

        Source: Shazeer and Stern 2018, Adafactor, section 7 and algorithm 6; mindspore.nn.AdaFactor.
        """
        if self.learning_rate is not None:
            return self.learning_rate
        number = update + 1
        return float(min(1e-6 * number if self.warmup_init else 1e-2, number**-0.5))

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if self.beta1 is not None and self.beta1 >= 1:
            yield "beta1", f"{self.beta1:g} is out of range", "from 0, below 1"
        if self.warmup_init and not self.relative_step:
            yield "warmup_init", "True needs relative_step: True", "False, or relative_step: True"


def second_moment(shape: Shape, name: str, whole_name: str) -> tuple[Slot, ...]:
    """The slots of a moment: of matrices a mean a row and one a column, of vectors one an element.

    Args:
        shape: of the parameter; its last two dims are those of matrices.
        name: beginning of the names of the former two.
        whole_name: name of the latter.
    """
    if len(shape) < 2:
        return (Slot(whole_name, shape),)
    return Slot(f"{name}_row", shape[:-1]), Slot(f"{name}_col", (*shape[:-2], shape[-1]))

"""The keys of the optimizers that keep the second moment of a matrix as one row and one column."""

from dataclasses import dataclass

from mf_config.schema import key


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoredKeys:
    """Clipping of the update, decay of the moments, and rates relative to the step or to the parameter."""

    learning_rate: float | None = key("Constant rate; used where there is no lr_schedule.", None, above=0)
    clip_threshold: float = key("Largest root mean square of an update.", 1.0, above=0)
    decay_rate: float = key("Exponent by which the second moment's decay nears 1.", 0.8, above=0)
    beta1: float | None = key("Decay of the first moment.", 0.9, minimum=0, maximum=1)
    weight_decay: float = key("Decay of matrices, relative to the rate.", 0.0, minimum=0)
    warmup_init: bool = key("Begin with small relative rates; with relative_step.", False)
    compression: bool = key("Keep the moments in float16.", False, allowed=(False,))
    loss_scale: float = key(
        "What gradients are divided by.", 1.0, above=0, inert="runner_wrapper.scale_sense says the loss scale"
    )

"""The keys of the optimizers of MindSpore whose decay is a part of the gradient."""

from dataclasses import dataclass

from mf_config.schema import key


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientKeys:
    """Rate, decay and loss scale."""

    learning_rate: float | None = key("Constant rate; used where there is no lr_schedule.", None, above=0)
    weight_decay: float = key("Decay of matrices, added to their gradient.", 0.0, minimum=0)
    loss_scale: float = key(
        "What gradients are divided by.", 1.0, above=0, inert="runner_wrapper.scale_sense says the loss scale"
    )

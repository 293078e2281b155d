"""MindSpore's Adam."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.adam_keys import AdamKeys


@component("optimizer", "Adam", "adam", pending="its update is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class Adam(AdamKeys):
    """Adam with bias correction; the decay is a part of the gradient.

    Source: Kingma and Ba 2015, Adam, algorithm 1; mindspore.nn.Adam.
    """

    eps: float = key("Added to the root of the second moment.", 1e-8, above=0)
    use_nesterov: bool = key("Look ahead along the first moment, as Nesterov's method does.", False)
    use_amsgrad: bool = key("Divide by the largest second moment so far.", False)
    use_locking: bool = key("Lock parameters while they change.", False, inert="each parameter has one writer")
    loss_scale: float = key(
        "What gradients are divided by.", 1.0, above=0, inert="runner_wrapper.scale_sense says the loss scale"
    )

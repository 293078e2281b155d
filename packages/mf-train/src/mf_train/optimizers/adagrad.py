"""Adagrad."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.gradient_keys import GradientKeys


@component("optimizer", "Adagrad", "adagrad", pending="its update is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class Adagrad(GradientKeys):
    """Gradient descent whose rate falls with the sum of squared gradients.

    Source: Duchi et al. 2011, Adaptive Subgradient Methods; mindspore.nn.Adagrad.
    """

    accum: float = key("The first value of the sums.", 0.1, minimum=0)
    update_slots: bool = key("Go on summing.", True)

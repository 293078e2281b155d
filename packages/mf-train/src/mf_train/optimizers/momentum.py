"""Gradient descent with momentum."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.gradient_keys import GradientKeys


@component("optimizer", "Momentum", pending="its update is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class Momentum(GradientKeys):
    """Gradient descent that keeps a share of the former change.

    Source: mindspore.nn.Momentum.
    """

    momentum: float = key("Share of the former change that is kept.", minimum=0)
    use_nesterov: bool = key("Look ahead along the momentum.", False)

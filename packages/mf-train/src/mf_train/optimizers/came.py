"""CAME: AdaFactor guided by how steady the updates are."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.factored_keys import FactoredKeys


@component("optimizer", "Came", pending="its update is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class Came(FactoredKeys):
    """AdaFactor whose update is divided by its own instability.

    Source: Luo et al. 2023, CAME: Confidence-guided Adaptive Memory Efficient Optimization, algorithm 2.
    """

    eps: tuple[float, ...] = key(
        "Added to squared gradients; least scale of a parameter; added to the instability.",
        (1e-30, 1e-3, 1e-16),
        above=0,
    )
    beta3: float = key("Decay of the instability.", 0.99, minimum=0, maximum=1)
    scale_parameter: bool = key("Make the rate relative to the parameter's size.", False)
    relative_step: bool = key("Take the rate from the number of updates instead of learning_rate.", False)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if len(self.eps) != 3:
            yield "eps", f"{list(self.eps)} is not the right count", "three numbers"

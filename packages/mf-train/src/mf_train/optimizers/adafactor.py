"""AdaFactor."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_train.optimizers.factored_keys import FactoredKeys


@component("optimizer", "AdaFactor", "adafactor", pending="its update is not built")
@dataclass(frozen=True, slots=True, kw_only=True)
class AdaFactor(FactoredKeys):
    """Adam whose second moment of a matrix is a row times a column.

    Source: Shazeer and Stern 2018, Adafactor; mindspore.nn.AdaFactor.
    """

    eps: tuple[float, ...] = key("Added to squared gradients; least scale of a parameter.", (1e-30, 1e-3), above=0)
    scale_parameter: bool = key("Make the rate relative to the parameter's size.", True)
    relative_step: bool = key("Take the rate from the number of updates instead of learning_rate.", True)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if len(self.eps) != 2:
            yield "eps", f"{list(self.eps)} is not the right count", "two numbers"

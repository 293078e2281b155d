"""The keys that the optimizers of Adam's kind share."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import key


@dataclass(frozen=True, slots=True, kw_only=True)
class AdamKeys:
    """Rate, moments and decay, as MindSpore's own classes name them."""

    learning_rate: float | None = key("Constant rate; used where there is no lr_schedule.", None, above=0)
    beta1: float = key("Decay of the first moment.", 0.9, minimum=0)
    beta2: float = key("Decay of the second moment.", 0.999, minimum=0)
    eps: float = key("Added to the root of the second moment.", 1e-6, above=0)
    weight_decay: float = key("Decay of matrices, relative to the rate.", 0.0, minimum=0)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        for name in ("beta1", "beta2"):
            if getattr(self, name) >= 1:
                yield name, f"{getattr(self, name):g} is out of range", "from 0, below 1"

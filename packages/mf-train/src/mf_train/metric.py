"""What a metric is: results of the sums that an evaluation makes.

The metrics themselves stand in `mf_train.metrics`, one module each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over every target of the held-out rows.

    Attributes:
        loss: negative log-likelihood, in nats.
        tokens: targets that counted.
        text_bytes: bytes of text behind them.
    """

    loss: float
    tokens: int
    text_bytes: int


class Metric(Protocol):
    """What every metric's section has."""

    def values(self, sums: Sums) -> Mapping[str, float]:
        """Name of each result to its value."""

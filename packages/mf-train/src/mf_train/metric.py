"""What a metric is: results of the sums that an evaluation makes, or scores of the answers that the model writes.

The metrics themselves stand in `mf_train.metrics`, one module each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable


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


@runtime_checkable
class Metric(Protocol):
    """A metric of likelihoods."""

    def values(self, sums: Sums) -> Mapping[str, float]:
        """Name of each result to its value."""


@runtime_checkable
class TextMetric(Protocol):
    """A metric of written answers: the mean of the scores of all of them.

    Attributes:
        names: of its results.
    """

    names: ClassVar[tuple[str, ...]]

    def scores(self, written: str, wanted: str) -> tuple[float, ...]:
        """Score one answer.

        Args:
            written: what the model writes.
            wanted: what the row says.
        Returns:
            One number a name.
        """

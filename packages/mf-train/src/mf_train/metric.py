"""What a metric is: results of the sums that an evaluation makes, or scores of the answers that the model gives.

The metrics themselves stand in `mf_train.metrics`, one module each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


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


@dataclass(frozen=True, slots=True)
class Hits:
    """How often the model is right, over every target of the held-out rows.

    Attributes:
        right: targets that are the likeliest.
        targets: targets that counted.
    """

    right: int
    targets: int


@runtime_checkable
class HitMetric(Protocol):
    """A metric of what the model finds likeliest."""

    def hit_values(self, hits: Hits) -> Mapping[str, float]:
        """Name of each result to its value."""


@dataclass(frozen=True, slots=True, eq=False)
class WeighedQuestion:
    """A question with its answers as the model weighs them. A answers.

    Attributes:
        subject: what it belongs to; empty for nothing.
        right: number of the right answer, from 0.
        losses_A: negative log-likelihood of each answer, in nats, float64.
        tokens_A: targets of each that counted.
        text_bytes_A: bytes of text behind them.
    """

    subject: str
    right: int
    losses_A: NDArray[np.float64]
    tokens_A: NDArray[np.float64]
    text_bytes_A: NDArray[np.float64]


@runtime_checkable
class ChoiceMetric(Protocol):
    """A metric of choices between answers."""

    def choice_values(self, questions: Sequence[WeighedQuestion]) -> Mapping[str, float]:
        """Name of each result to its value, of at least one question."""


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

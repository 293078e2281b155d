"""What is done about gradients that are too large."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GradientLimits:
    """Limits of the mean loss's gradients.

    Attributes:
        norm: the global norm to which they are scaled down; None for any.
        value: the largest magnitude of an element, to which it is cut after that; None for any.
        spike: the global norm, before both, from which on a step changes nothing; infinite for any.
    """

    norm: float | None = None
    value: float | None = None
    spike: float = math.inf


NO_LIMITS = GradientLimits()
"""Gradients as they are, so long as they are finite."""

"""One cell of the report: a measured error within its bound, or the reason why nothing was measured."""

from dataclasses import dataclass

COLUMNS = (
    "logits",
    "loss",
    "greedy tokens",
    "round trip",
    "LoRA",
    "cache",
    "Ascend forward",
    "Ascend backward",
)
"""What is measured, in the order of the table."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The outcome of one check.

    Attributes:
        text: the measured value, short; empty where nothing could be measured.
        passed: whether the value is within its bound; None where there is no value.
        reason: why there is no value, or what else belongs to it; empty where nothing does.
    """

    text: str
    passed: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One model of one family.

    Attributes:
        family: the canonical `type:` of its section.
        model: name of the golden model; empty where there is none.
        cells: column to outcome.
    """

    family: str
    model: str
    cells: dict[str, Cell]

    @property
    def failed(self) -> list[str]:
        """The columns whose value is out of bounds."""
        return [name for name, cell in self.cells.items() if cell.passed is False]


def measured(error: float, bound: float) -> Cell:
    """A cell for the largest difference from what is right."""
    return Cell(f"{error:.1e}", bool(error <= bound))


def not_measured(reason: str) -> Cell:
    """A cell without a value."""
    return Cell("", None, reason)

"""The report as text."""

from collections.abc import Sequence

from mf_models.report.cells import COLUMNS, Cell, Row


def as_table(rows: Sequence[Row]) -> str:
    """One line a model, and below it the reasons of the cells that have no value.

    Args:
        rows: the models.

    Returns:
        Lines for a terminal. A cell without a value holds the number of its reason, one out of bounds an exclamation
        mark.
    """
    lines, reasons = _lines(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    notes = [f"({number}) {reason}" for number, reason in enumerate(reasons, 1)]
    return "\n".join([*table, "", *notes]).rstrip() + "\n"


def as_page(rows: Sequence[Row], title: str) -> str:
    """The same as a page of Markdown.

    Args:
        rows: the models.
        title: the heading, and below it what the columns mean.
    """
    lines, reasons = _lines(rows)
    lines.insert(1, ["---"] * len(lines[0]))
    table = [f"| {' | '.join(line)} |" for line in lines]
    notes = [f"{number}. {reason}" for number, reason in enumerate(reasons, 1)]
    return "\n".join([title, "", *table, "", *notes]).rstrip() + "\n"


def _lines(rows: Sequence[Row]) -> tuple[list[list[str]], list[str]]:
    """The cells of all lines, the heads of the columns first, and the reasons in the order of their numbers."""
    reasons: list[str] = []
    lines = [["family", "model", *COLUMNS]]
    for row in rows:
        lines.append([row.family, row.model or "-", *(_text(row.cells[column], reasons) for column in COLUMNS)])
    return lines, reasons


def _text(cell: Cell, reasons: list[str]) -> str:
    """The text of a cell; its reason gets a number unless it has one already."""
    parts = [cell.text + ("!" if cell.passed is False else "")]
    if cell.reason:
        if cell.reason not in reasons:
            reasons.append(cell.reason)
        parts.append(f"({reasons.index(cell.reason) + 1})")
    return " ".join(part for part in parts if part)

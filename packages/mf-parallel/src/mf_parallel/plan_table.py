"""A parallel plan as a table that a person can check."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One line: parameters that are alike.

    Attributes:
        parameters: their names.
        shape: the whole shape of each.
        placement: how each is divided.
        role: what its layer does at its border.
        stages: the pipeline stages that hold it.
        local_shape: shape of a rank's piece.
        size: bytes of all of them on a rank.
    """

    parameters: str
    shape: str
    placement: str
    role: str
    stages: str
    local_shape: str
    size: int


def render(title: str, rows: Sequence[Row], total: int) -> str:
    """The table as aligned text.

    Args:
        title: what stands above it.
        rows: its lines.
        total: bytes of the rank that holds most.

    Returns:
        Lines of text; the column of stages is left out where there is one stage.
    """
    staged = any(row.stages != "0" for row in rows)
    heads = ("parameter", "shape", "placement", "role", "stage", "local shape", "KiB per rank")
    cells = [heads, *((*row[:-1], _kibibytes(row.size)) for row in rows), ("total", *[""] * 5, _kibibytes(total))]
    if not staged:
        cells = [(*row[:4], *row[5:]) for row in cells]
    return "\n".join([title, *align(cells)])


def align(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Lines of columns padded to their widest cell; the last one, a number, to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        yield "  ".join([*cells, row[-1].rjust(widths[-1])])


def _kibibytes(size: int) -> str:
    return f"{size / 1024:,.1f}"

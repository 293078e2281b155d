"""What `mf-ckpt inspect` says of a checkpoint, as a table for a person or as plain data."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from mf_ckpt.files import JsonObject
from mf_ckpt.reader import Reader
from mf_ckpt.tensors import Tensors

_LAYOUT_WIDTH = 200
"""Characters of the layout in the table; the data form has all of it."""


def describe(reader: Reader, pattern: str) -> JsonObject:
    """A checkpoint as plain data.

    Args:
        reader: the open checkpoint.
        pattern: shell pattern of the tensor names to list, such as `*.q_proj.weight`.

    Returns:
        path, step, layout, and for weights and optimizer state: tensors, their number, elements and bytes. The sums
        count the listed tensors only.
    """
    return {
        "path": str(reader.path),
        "step": reader.step,
        "layout": reader.layout,
        "weights": _tensors(reader, pattern),
        "optimizer": _tensors(reader.optimizer, pattern),
    }


def as_text(report: JsonObject) -> str:
    """What `describe` returned, as an aligned table with a summary."""
    groups = [("weights", report["weights"]), ("optimizer", report["optimizer"])]
    cells = [("name", "dtype", "shape", "size")]
    for _, group in groups:
        for tensor in group["tensors"]:
            shape = "x".join(map(str, tensor["shape"])) or "scalar"
            cells.append((printable(tensor["name"]), tensor["dtype"], shape, size_text(tensor["bytes"])))
    lines = list(_aligned(cells)) if len(cells) > 1 else []
    for title, group in groups:
        if group["count"]:
            lines.append(
                f"{title}: {_counted(group['count'])}, {group['elements']:,} elements, {size_text(group['bytes'])}"
            )
    if report["step"] is not None:
        lines.append(f"step: {report['step']}")
    if report["layout"] is not None:
        lines.append(f"layout: {textwrap.shorten(printable(json.dumps(report['layout'])), _LAYOUT_WIDTH)}")
    return "\n".join(lines)


def size_text(nbytes: int) -> str:
    """A number of bytes in the largest binary unit that keeps it at least 1."""
    size = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{nbytes} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def printable(text: str) -> str:
    """Text from a file without what could steer a terminal: such characters show as escapes."""
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


def _tensors(tensors: Tensors, pattern: str) -> JsonObject:
    infos = {name: tensors.info(name) for name in tensors if fnmatchcase(name, pattern)}
    return {
        "tensors": [
            {"name": name, "dtype": info.dtype, "shape": list(info.shape), "bytes": info.nbytes}
            for name, info in infos.items()
        ],
        "count": len(infos),
        "elements": sum(info.count for info in infos.values()),
        "bytes": sum(info.nbytes for info in infos.values()),
    }


def _counted(number: int) -> str:
    return "1 tensor" if number == 1 else f"{number:,} tensors"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    """Columns padded to equal width; the last one, a size, is set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        yield "  ".join((*left, row[-1].rjust(widths[-1])))

"""`mf-ckpt diff`: where two checkpoints differ."""

from argparse import Namespace
from collections.abc import Iterator

from mf_ckpt.cli.output import ProgressLine, open_path, print_json, print_text
from mf_ckpt.cli.texts import printable
from mf_ckpt.reading.comparison import Comparison, compare_checkpoints
from mf_config.command_line import FAILURE, OK

_SHOWN = 20
"""Lines of each kind for a person; JSON has all."""


def run(arguments: Namespace) -> int:
    """Print every difference; returns 1 where there is one."""
    first, second = open_path(arguments.first), open_path(arguments.second)
    found = compare_checkpoints(first, second, ProgressLine())
    if arguments.json:
        print_json({"first": str(first.path), "second": str(second.path), **found.to_json()})
    else:
        print_text("\n".join(_lines(found)) or f"{first.path} and {second.path}: equal, bit by bit")
    return FAILURE if found else OK


def _lines(found: Comparison) -> Iterator[str]:
    """All differences for a person, the first of each kind where there are many."""
    kinds = [
        [f"only in A: {name}" for name in found.only_first],
        [f"only in B: {name}" for name in found.only_second],
        [
            f"{name}: {one.dtype} {list(one.shape)} in A, {other.dtype} {list(other.shape)} in B"
            for name, (one, other) in found.forms.items()
        ],
        [
            f"{name}: {values.count:,} of {values.elements:,} elements differ, by up to {values.largest:.3g}"
            for name, values in found.values.items()
        ],
        [f"{name}: differs, or only one has it" for name in found.documents],
    ]
    for lines in kinds:
        yield from map(printable, lines[:_SHOWN])
        if len(lines) > _SHOWN:
            yield f"… and {len(lines) - _SHOWN} more of this kind"

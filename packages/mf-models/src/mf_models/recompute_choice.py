"""Which blocks `recompute_config` speaks of; imports no MindSpore."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mf_config.sections.memory import Selection

Chunks = Sequence[Sequence[range]]
"""`chunks[chunk][stage]` are the numbers of the blocks there."""

OPERATORS = (r"feed_forward\.mul", r"feed_forward\.w1\.activation\.silu")
COMMUNICATION = (r".*\.norm",)
"""What select_recompute and select_comm_recompute mean without patterns, as in MindFormers."""


def chosen_blocks(choice: Any, chunks: Chunks) -> frozenset[int]:
    """The blocks that a switch, a number for all stages, or a list with a number for each stage chooses.

    Args:
        choice: True for all; a number for the first blocks of every stage; a list with either for each stage, or a list
            of such lists, one for each chunk. A plain list counts blocks through the chunks of a stage. Stages beyond
            the end of a list have none.
        chunks: the blocks of all pipeline stages.
    """
    if not isinstance(choice, tuple):
        choice = (choice,) * len(chunks[0])
    if any(isinstance(item, tuple) for item in choice):
        chosen: list[int] = []
        for row, stages in zip(choice, chunks, strict=False):
            chosen += chosen_blocks(row if isinstance(row, tuple) else (row,), [stages])
        return frozenset(chosen)
    found = []
    for stage, count in enumerate(choice[: len(chunks[0])]):
        blocks = [number for chunk in chunks for number in chunk[stage]]
        found += blocks if count is True else blocks[: int(count)]
    return frozenset(found)


def selected_blocks(selection: Selection, usual: Sequence[str], chunks: Chunks) -> Iterator[tuple[str, frozenset[int]]]:
    """The patterns that a selection has, and the blocks in which each counts.

    Args:
        selection: a choice as in `chosen_blocks`, which counts for the usual patterns; a list of patterns, which count
            in all blocks; or patterns and the choice of each.
        usual: the usual patterns.
        chunks: the blocks of all pipeline stages.
    """
    if isinstance(selection, dict):
        choices: Mapping[str, Any] = selection
    elif patterns := patterns_of(selection):
        choices = dict.fromkeys(patterns, True)
    else:
        choices = dict.fromkeys(usual, selection)
    for pattern, choice in choices.items():
        if choice is not False:
            yield pattern, chosen_blocks(choice, chunks)


def patterns_of(selection: Selection) -> tuple[str, ...]:
    """The patterns of a list or of a section; none where only blocks are chosen."""
    return tuple(item for item in selection if isinstance(item, str)) if not isinstance(selection, bool) else ()

"""Chooses which tokens of running requests are computed in one step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mf_infer.engine.chunks import Chunk
from mf_infer.engine.row import Row, RowBlocks
from mf_infer.request import Request

PROMPT_TOKENS = 256
"""Tokens of prompts that are computed in one step, so that answers need not wait for all of them."""


@dataclass(slots=True, eq=False)
class Entry:
    """A request and its rows."""

    request: Request
    rows: list[Row]


class Stretch(NamedTuple):
    """The next tokens of a row that are computed together.

    Attributes:
        entry: the request.
        row: one of its rows.
        length: how many tokens.
    """

    entry: Entry
    row: Row
    length: int

    @property
    def chunk(self) -> Chunk:
        """The tokens as a runner takes them, once the row has blocks for them."""
        row = self.row
        return Chunk(row.tokens[row.computed : row.computed + self.length], row.computed, row.blocks)


class Schedule:
    """Lets prompts take turns, and answers go on beside them.

    How a prompt is cut does not depend on other requests, so that models which round differently for other shapes give
    it the same logits beside whatever else.

    Attributes:
        reused_tokens: tokens so far that were found in the cache instead of being computed.
    """

    def __init__(self, rows: RowBlocks, max_rows: int, whole_prompts: bool):
        """Takes what finds known blocks, most rows that get single tokens, and whether prompts may not be cut."""
        self.reused_tokens = 0
        self._rows = rows
        self._max_rows = max_rows
        self._whole_prompts = whole_prompts

    def scored(self, running: Sequence[Entry]) -> Stretch | None:
        """Of the prompt that has waited longest, of those whose scores are asked for; None without one."""
        asked = [(entry, row) for entry, row in _prompts(running) if entry.request.wants_prompt_scores]
        return Stretch(*asked[0], self._length(asked[0][1])) if asked else None

    def stretches(self, running: Sequence[Entry]) -> list[Stretch]:
        """Stretches of prompts, and one token of rows that have one missing; those first that have waited longest."""
        prompts = self._of_prompts(running)
        ready = [(entry, row) for entry, row in _by_turn(running) if row.missing == 1]
        return prompts + [Stretch(entry, row, 1) for entry, row in ready[: self._max_rows]]

    def _of_prompts(self, running: Sequence[Entry]) -> list[Stretch]:
        stretches: list[Stretch] = []
        left = PROMPT_TOKENS
        coming: set[bytes] = set()
        for entry, row in _prompts(running):
            if entry.request.wants_prompt_scores:
                continue
            found = self._rows.find(row)
            self.reused_tokens += found
            entry.request.note_reused(found)
            count, key = self._length(row), self._rows.coming_key(row)
            # What was found may leave one token, which is decoded; what another row computes now is found then.
            if row.missing == 1 or (stretches and count > left) or key in coming:
                continue
            stretches.append(Stretch(entry, row, count))
            left -= count
            if key is not None:
                coming.add(key)
        return stretches

    def _length(self, row: Row) -> int:
        return row.missing if self._whole_prompts else min(row.missing, PROMPT_TOKENS)


def _prompts(running: Sequence[Entry]) -> list[tuple[Entry, Row]]:
    """Rows that have more than one token missing."""
    return [(entry, row) for entry, row in _by_turn(running) if row.missing > 1]


def _by_turn(running: Sequence[Entry]) -> Iterator[tuple[Entry, Row]]:
    """All rows, those first that have waited longest."""
    rows = [(entry, row) for entry in running for row in entry.rows]
    return iter(sorted(rows, key=lambda pair: pair[1].turn))

"""One process of a team decides what is computed, and all of them compute it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mf_infer.engine.chunks import Chunk, Runner
from mf_infer.processes.team import Team

_END = "end"


class LeadingRunner:
    """The first process's runner: it tells the others what it computes; see `Runner`.

    Attributes:
        blocks: see `Runner`.
        block_size: likewise.
        whole_prompts: likewise.
        weight_bytes: of this process's piece.
    """

    def __init__(self, runner: Runner, team: Team):
        """Takes the runner of this process's piece of the model."""
        self.blocks = runner.blocks
        self.block_size = runner.block_size
        self.whole_prompts = runner.whole_prompts
        self.weight_bytes = runner.weight_bytes
        self._runner = runner
        self._team = team

    def compute(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """See `Runner.compute`."""
        self._team.hear(["compute", chunks])
        return self._runner.compute(chunks)

    def score(self, chunk: Chunk) -> NDArray[np.float32]:
        """See `Runner.score`."""
        self._team.hear(["score", [chunk]])
        return self._runner.score(chunk)

    def copy(self, pairs: Sequence[tuple[int, int]]) -> None:
        """See `Runner.copy`."""
        self._team.hear(["copy", pairs])
        self._runner.copy(pairs)

    def end(self) -> None:
        """Let the other processes end; nothing may be computed afterwards."""
        self._team.hear([_END, []])


def follow(runner: Runner, team: Team) -> None:
    """Compute what the first process of a team computes, until it ends."""
    while True:
        what, content = team.hear()
        if what == _END:
            return
        _repeat(runner, what, content)


def _repeat(runner: Runner, what: str, content: Sequence[Any]) -> None:
    if what == "copy":
        runner.copy([(source, target) for source, target in content])
        return
    chunks = [Chunk(*one) for one in content]
    if what == "score":
        runner.score(chunks[0])
    else:
        runner.compute(chunks)

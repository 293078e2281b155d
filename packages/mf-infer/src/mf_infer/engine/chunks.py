"""What the engine asks of a model. Legend: V vocabulary."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Chunk(NamedTuple):
    """Tokens of one row that are computed together.

    Attributes:
        tokens: the tokens, at least one.
        start: place of the first one; the places before are in the cache.
        blocks: the row's blocks, enough for all of them.
    """

    tokens: Sequence[int]
    start: int
    blocks: Sequence[int]


class Runner(Protocol):
    """A model with a cache.

    Attributes:
        blocks: blocks of the cache, that of nobody among them.
        block_size: tokens of a block.
        whole_prompts: whether keys depend on the length of their text: prompts are then not cut, nor blocks shared.
        weight_bytes: memory of the parameters that this process holds.
    """

    blocks: int
    block_size: int
    whole_prompts: bool
    weight_bytes: int

    def compute(self, chunks: Sequence[Chunk]) -> list[NDArray[np.float32]]:
        """Put tokens of different rows into the cache; returns [V] for each chunk, the logits after its last token."""
        ...

    def score(self, chunk: Chunk) -> NDArray[np.float32]:
        """Put tokens of one row into the cache; returns [tokens, V], the logits after each one."""
        ...

    def copy(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Copy blocks to blocks."""
        ...

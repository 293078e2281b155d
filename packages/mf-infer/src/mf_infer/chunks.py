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
    """

    blocks: int
    block_size: int
    whole_prompts: bool

    def prefill(self, chunk: Chunk) -> NDArray[np.float32]:
        """Put tokens of one row into the cache; returns [V], the logits after the last one."""
        ...

    def score(self, chunk: Chunk) -> NDArray[np.float32]:
        """As `prefill`, but returns [tokens, V], the logits after each one."""
        ...

    def decode(self, chunks: Sequence[Chunk]) -> NDArray[np.float32]:
        """Put one token of each row into the cache; returns [rows, V]."""
        ...

    def copy(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Copy blocks to blocks."""
        ...

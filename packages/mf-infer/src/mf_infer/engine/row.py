"""One sequence of tokens in the cache: a prompt and one of its answers, or one beam."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mf_infer.engine.blocks import START, BlockPool, block_key


@dataclass(slots=True, eq=False)
class Row:
    """Tokens, and how far they are in the cache.

    Attributes:
        tokens: prompt and answer so far.
        blocks: the row's blocks in order.
        keys: keys of its first blocks, which are full and may be shared.
        computed: tokens that are in the cache.
        logits: [vocabulary] of the token after the last one; None until all tokens are in the cache.
        turn: when it was last computed, in steps of the engine.
    """

    tokens: list[int]
    blocks: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    computed: int = 0
    logits: NDArray[np.float32] | None = None
    turn: int = 0

    @property
    def missing(self) -> int:
        """Tokens that are not in the cache yet."""
        return len(self.tokens) - self.computed


class RowBlocks:
    """Gives rows their blocks.

    Attributes:
        pool: the blocks.
        block_size: tokens of a block.
    """

    def __init__(self, pool: BlockPool, block_size: int, reuse: bool):
        """Takes the pool; without `reuse`, no block is found again by its content."""
        self.pool = pool
        self.block_size = block_size
        self._reuse = reuse

    def extend(self, row: Row, tokens: int) -> bool:
        """Give a row blocks for its first `tokens` tokens; False where there are too few: it has what there were."""
        while len(row.blocks) * self.block_size < tokens:
            block = self.pool.take()
            if block is None:
                return False
            row.blocks.append(block)
        return True

    def find(self, row: Row) -> int:
        """Take over blocks that hold the row's next tokens already, all but the last token.

        Returns:
            Tokens that need not be computed.
        """
        found = 0
        while (key := self.coming_key(row)) is not None:
            block = self.pool.find(key)
            if block is None:
                break
            # A block that was meant for these tokens is not needed any more.
            self.pool.release(row.blocks[len(row.keys) :])
            row.blocks[len(row.keys) :] = [block]
            row.keys.append(key)
            row.computed += self.block_size
            found += self.block_size
        return found

    def coming_key(self, row: Row) -> bytes | None:
        """Key of the block that is filled next; None where `find` would look for none."""
        last_full = (len(row.tokens) - 1) // self.block_size
        is_sought = self._reuse and row.computed == len(row.keys) * self.block_size and len(row.keys) < last_full
        return self._key(row) if is_sought else None

    def remember(self, row: Row) -> None:
        """Make the row's full blocks findable."""
        while (len(row.keys) + 1) * self.block_size <= row.computed:
            key = self._key(row)
            if self._reuse:
                self.pool.remember(row.blocks[len(row.keys)], key)
            row.keys.append(key)

    def fork(self, row: Row) -> tuple[Row, tuple[int, int] | None]:
        """A second row with the same tokens, which shares the full blocks.

        Returns:
            The row, and the block to copy and its copy where the last block is not full. A row for which there is no
            block begins anew.
        """
        full = len(row.keys)
        copied = self.pool.take() if row.computed > full * self.block_size else None
        if copied is None and row.computed > full * self.block_size:
            return Row(list(row.tokens)), None
        for block in row.blocks[:full]:
            self.pool.share(block)
        fork = Row(list(row.tokens), row.blocks[:full], list(row.keys), row.computed)
        if copied is None:
            return fork, None
        fork.blocks.append(copied)
        return fork, (row.blocks[full], copied)

    def release(self, row: Row) -> None:
        """Take all blocks away; the row would have to be computed anew."""
        self.pool.release(row.blocks)
        row.blocks, row.keys, row.computed, row.logits = [], [], 0, None

    def _key(self, row: Row) -> bytes:
        """Key of the first block behind those that have one."""
        begin = len(row.keys) * self.block_size
        return block_key(row.keys[-1] if row.keys else START, row.tokens[begin : begin + self.block_size])

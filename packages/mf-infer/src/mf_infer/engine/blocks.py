"""Blocks of the cache: who owns which, and which hold tokens that a later request may begin with."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

NOBODY = 0
"""The block that pads tables; see `mf_models.cache.KvCache`."""

START = b""
"""Key of what stands before the first block."""


def block_key(before: bytes, tokens: Sequence[int]) -> bytes:
    """Name of a full block: it tells its tokens and all tokens before it.

    Args:
        before: key of the block before, `START` for the first one.
        tokens: tokens of the block.
    """
    return hashlib.blake2b(before + np.asarray(tokens, np.int64).tobytes(), digest_size=32).digest()


class BlockPool:
    """The blocks of a cache. One without an owner keeps its content, and can be found by it, until it is needed.

    Attributes:
        size: blocks that can be owned.
    """

    def __init__(self, blocks: int):
        """Takes the cache's number of blocks, that of nobody among them."""
        self.size = blocks - 1
        self._owners = [0] * blocks
        self._keys: list[bytes | None] = [None] * blocks
        self._known: dict[bytes, int] = {}
        # The next one to be given away stands first: those without known content, then those unused for longest.
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(1, blocks))

    @property
    def free(self) -> int:
        """Blocks without an owner."""
        return len(self._free)

    def take(self) -> int | None:
        """A block for one owner, whose content is forgotten; None where all have owners."""
        if not self._free:
            return None
        block, _ = self._free.popitem(last=False)
        if (key := self._keys[block]) is not None:
            del self._known[key]
            self._keys[block] = None
        self._owners[block] = 1
        return block

    def share(self, block: int) -> None:
        """One more owner of a block."""
        self._free.pop(block, None)
        self._owners[block] += 1

    def find(self, key: bytes) -> int | None:
        """The block of a key, with one more owner; None where there is none."""
        block = self._known.get(key)
        if block is not None:
            self.share(block)
        return block

    def remember(self, block: int, key: bytes) -> None:
        """Make a full block findable; of two with the same content the first one stays so."""
        if key not in self._known and self._keys[block] is None:
            self._known[key] = block
            self._keys[block] = key

    def release(self, blocks: Sequence[int]) -> None:
        """One owner less for each block of a sequence; its last ones are given away first."""
        for block in reversed(blocks):
            self._owners[block] -= 1
            assert self._owners[block] >= 0, f"block {block} has no owner"
            if self._owners[block] == 0:
                self._free[block] = None
                if self._keys[block] is None:
                    self._free.move_to_end(block, last=False)

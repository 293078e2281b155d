"""A MindSpore `.ckpt` file whose tensors are all known before."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from mf_ckpt.formats.mindspore_ckpt.ckpt_writer import tensor_pieces
from mf_ckpt.sources.source import Source
from mf_ckpt.store.file_plan import Block


@dataclass(frozen=True, slots=True)
class PlannedCkpt:
    """One `.ckpt` file.

    Attributes:
        name: its name.
        source: its tensors, in order.
    """

    name: str
    source: Source

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return sum(nbytes for tensor in self.source for nbytes, _ in tensor_pieces(self.source, tensor))

    def blocks(self) -> Iterator[Block]:
        """Everything that the file consists of, from its first byte to its last."""
        begin = 0
        for nbytes, fill in chain.from_iterable(tensor_pieces(self.source, tensor) for tensor in self.source):
            yield Block(self.name, begin, nbytes, fill)
            begin += nbytes

"""What a planner needs to know of a network: parameters, products, and what a backward pass needs of a forward one."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWork:
    """One block. Sizes are elements for each token, of the whole network, before anything is divided.

    Attributes:
        shapes: its parameters by their names in it.
        score_width: width of query and value of all heads together: the multiplications of a query with one key.
        key_width: width of what is kept of keys and values of all heads together.
        heads: query heads.
        window: most keys that a query sees; None for all before it.
        stream: what the backward pass needs of the residual stream, which sequence parallelism divides.
        normed: results of norms that enter divided layers; whole on every rank.
        inner: what lies between divided layers: heads and inner width of the feed-forward.
        product: the part of `inner` that selective recomputation makes anew from its neighbours.
        chosen: experts that a token goes to; 0 where there are none.
    """

    shapes: tuple[tuple[str, Shape], ...]
    score_width: int
    key_width: int
    heads: int
    window: int | None
    stream: int
    normed: int
    inner: int
    product: int
    chosen: int = 0


@dataclass(frozen=True)
class NetworkWork:
    """A decoder.

    Attributes:
        before: parameters before the blocks, name to whole shape.
        blocks: the blocks in their order.
        behind: parameters behind the blocks.
        block_name: what the names of a block's parameters begin with, `{}` for its number.
        hidden_size: width of the residual stream.
        vocab_size: rows of the head.
        row_length: tokens of a row.
        heads_used: how often a step computes logits: once, and once more for each further token that is predicted.
    """

    before: Mapping[str, Shape]
    blocks: tuple[BlockWork, ...]
    behind: Mapping[str, Shape]
    block_name: str
    hidden_size: int
    vocab_size: int
    row_length: int
    heads_used: int = 1

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """For each block the number of the first block that is like it."""
        first: dict[BlockWork, int] = {}
        return tuple(first.setdefault(block, number) for number, block in enumerate(self.blocks))

    @cached_property
    def shapes_of_kinds(self) -> dict[str, Shape]:
        """Parameters of the network with one block of each kind: what holds for these holds for all."""
        found = dict(self.before)
        for number in dict.fromkeys(self.kinds):
            found |= {self.block_name.format(number) + name: shape for name, shape in self.blocks[number].shapes}
        return found | dict(self.behind)

    def names_in(self, number: int) -> list[str]:
        """The names in `shapes_of_kinds` of the parameters of a block like this one."""
        kind = self.kinds[number]
        return [self.block_name.format(kind) + name for name, _ in self.blocks[kind].shapes]

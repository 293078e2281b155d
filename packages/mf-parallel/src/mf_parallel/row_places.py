"""Which tokens of a row each context-parallel rank has. Needs no device.

The row is cut into blocks, one for each ring of ranks, and a block among the ranks of its ring, which exchange heads.
A block is made of two chunks, one from the front and one from the back of the row, so that with a causal mask all
rings have the same work. Source: Brandon et al. 2023, Striped Attention, section 3, for the imbalance; the pairing of
chunks is that of Megatron-LM.
"""

from dataclasses import dataclass

from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class RowDivision:
    """How rows are divided among `rings * ranks` ranks.

    Attributes:
        rings: groups of ranks that have a block each; keys are gathered over them.
        ranks: ranks of each ring, neighbours, which exchange heads.
    """

    rings: int = 1
    ranks: int = 1

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """For each ring the chunks of the row that make its block, in order."""
        if self.rings == 1:
            return ((0,),)
        return tuple((ring, 2 * self.rings - 1 - ring) for ring in range(self.rings))

    @property
    def chunk_order(self) -> tuple[int, ...]:
        """Where each chunk of the row stands when the blocks of all rings are joined, in the order of the row."""
        joined = [chunk for block in self.chunks for chunk in block]
        return tuple(joined.index(chunk) for chunk in range(len(joined)))

    def places(self, length: int, position: int) -> list[int]:
        """The places of one rank's tokens.

        Args:
            length: tokens of a row.
            position: the rank's number, from 0.

        Returns:
            Places in the row, in the order in which the rank has them.

        Raises:
            UserError: rows of this length can't be divided so.
        """
        count = sum(map(len, self.chunks))
        if length % count or (length * len(self.chunks[0]) // count) % self.ranks:
            needed = count * self.ranks
            raise UserError(
                f"model.model_config.seq_length: {length} tokens can't be divided into {count} chunks for "
                f"{self.rings} groups of {self.ranks} ranks. Allowed: multiples of {needed}."
            )
        ring, member = divmod(position, self.ranks)
        size = length // count
        block = [place for chunk in self.chunks[ring] for place in range(chunk * size, (chunk + 1) * size)]
        own = len(block) // self.ranks
        return block[member * own : (member + 1) * own]

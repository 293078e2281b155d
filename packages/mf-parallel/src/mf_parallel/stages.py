"""Which blocks of a network each pipeline stage has. Needs no device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from mf_config.problems import UserError
from mf_parallel.names import first_number

Offsets = int | Sequence[int] | Sequence[Sequence[int]]
"""0, or blocks that each stage has more than an even share: one number a stage, or one such row for each chunk."""


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring blocks of a network, with what stands before the first or behind the last block of all.

    Attributes:
        blocks: their numbers.
        is_first: whether the part begins with the embedding; else hidden states come in.
        is_last: whether the part ends with the last norm and the head; else hidden states go out.
    """

    blocks: range
    is_first: bool = True
    is_last: bool = True


@dataclass(frozen=True, slots=True)
class StageSplit:
    """The blocks of all stages. What stands before the blocks is of the first stage, what follows them of the last.

    With several chunks a micro batch passes all stages with their first chunks, then all stages with the second.

    Attributes:
        chunks: `chunks[chunk][stage]` is the range of blocks, as (first, end); with one stage it says nothing.
    """

    chunks: tuple[tuple[tuple[int, int], ...], ...] = (((0, 0),),)

    @classmethod
    def of(cls, layers: int, stages: int, chunks: int = 1, offsets: Offsets = 0) -> Self:
        """Divide blocks in their order.

        Args:
            layers: blocks of the network.
            stages: pipeline stages.
            chunks: parts of the network that each stage has.
            offsets: see `Offsets`; only what an even division leaves over, and whatever is moved between stages.

        Returns:
            The split; with `offsets` 0, the first stages take one block more each where the division is uneven.

        Raises:
            UserError: numbers of blocks that do not fit together.
        """
        share, left = divmod(layers, stages * chunks)
        counts = [share + extra for extra in _extras(offsets, stages, chunks, left)]
        if min(counts) < 1:
            raise UserError(
                f"parallel_config.pipeline_stage: {stages} stages of {chunks} chunks for {layers} blocks with offset "
                f"{offsets} leave a stage without a block. Allowed: at most {layers} stages and chunks together."
            )
        if sum(counts) != layers:
            raise UserError(
                f"model.model_config.offset: {offsets} for {layers} blocks in {stages} stages of {chunks} chunks. "
                f"Allowed: numbers that sum to {left}."
            )
        ends = [sum(counts[: number + 1]) for number in range(len(counts))]
        ranges = [(end - count, end) for count, end in zip(counts, ends, strict=True)]
        return cls(tuple(tuple(ranges[stages * chunk : stages * (chunk + 1)]) for chunk in range(chunks)))

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.chunks[0])

    def parts(self, stage: int) -> list[Part]:
        """The chunks of a stage, in the order in which a micro batch passes them."""
        last_chunk, last_stage = len(self.chunks) - 1, self.stages - 1
        return [
            Part(range(*row[stage]), (chunk, stage) == (0, 0), (chunk, stage) == (last_chunk, last_stage))
            for chunk, row in enumerate(self.chunks)
        ]

    def stage_of(self, block: int) -> int:
        """The stage that has a block."""
        found = [stage for stage in range(self.stages) for part in self.parts(stage) if block in part.blocks]
        assert len(found) == 1, f"block {block} is on stages {found}"
        return found[0]

    def holders(self, shapes: Mapping[str, object], tied: str | None = None) -> dict[str, tuple[int, ...]]:
        """The stages that hold each parameter.

        Args:
            shapes: parameter names in the model's order; those of a block have its number.
            tied: a parameter before the blocks that is needed after them too.

        Returns:
            Name to stages, ascending.
        """
        last, behind = self.stages - 1, False
        if last == 0:
            return dict.fromkeys(shapes, (0,))
        found: dict[str, tuple[int, ...]] = {}
        for name in shapes:
            block = first_number(name)
            behind = behind or block is not None
            if block is not None:
                found[name] = (self.stage_of(block),)
            elif name == tied:
                found[name] = (0, last)
            else:
                found[name] = (last if behind else 0,)
        return found


def _extras(offsets: Offsets, stages: int, chunks: int, left: int) -> list[int]:
    """For each part, in the order in which a micro batch passes them, the blocks beyond an even share."""
    if isinstance(offsets, int):
        return [int(part < left) for part in range(stages * chunks)]
    flat: list[int] = []
    for item in offsets:
        flat += [item] if isinstance(item, int) else item
    if len(flat) != stages * chunks:
        raise UserError(
            f"model.model_config.offset: {len(flat)} numbers for {stages} stages of {chunks} chunks. "
            f"Allowed: {stages * chunks}, a row of {stages} for each chunk."
        )
    return flat

"""The order of forward and backward passes on each pipeline stage. Needs no device.

A chunk is a part of the network; with several chunks a stage, chunk c of stage s is part c * stages + s.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.problems import UserError


@dataclass(frozen=True, slots=True, order=True)
class Pass:
    """One pass of one micro batch through one part of the network.

    Attributes:
        stage: who computes it.
        chunk: which of the stage's chunks.
        micro: number of the micro batch.
        backward: whether it is the backward pass.
    """

    stage: int
    chunk: int
    micro: int
    backward: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a pipeline is.

    Attributes:
        stages: pipeline stages.
        chunks: chunks of each stage.
        micros: micro batches of a step.
    """

    stages: int
    chunks: int
    micros: int

    @property
    def parts(self) -> int:
        """Parts of the network."""
        return self.stages * self.chunks

    def part(self, one: Pass) -> int:
        """The part that a pass goes through."""
        return one.chunk * self.stages + one.stage

    def next(self, one: Pass) -> Pass | None:
        """The pass that takes a pass's result; None where nobody does."""
        part = self.part(one) + (-1 if one.backward else 1)
        if not 0 <= part < self.parts:
            return None
        chunk, stage = divmod(part, self.stages)
        return Pass(stage, chunk, one.micro, one.backward)


def schedule(shape: Shape, kind: str = "1f1b") -> list[list[Pass]]:
    """The passes of each stage, in their order.

    Args:
        shape: how large the pipeline is.
        kind: `1f1b`, which alternates forward and backward passes as soon as it can, so that few activations are kept;
            or `gpipe`, all forward passes first.

    Returns:
        One list a stage; each micro batch passes each chunk once forward and once backward.

    Raises:
        UserError: there are fewer micro batches than stages, or with several chunks no multiple of them.

    Source: Huang et al. 2019, GPipe, figure 2; Narayanan et al. 2021, Efficient Large-Scale Language Model Training on
        GPU Clusters, section 2.2.
    """
    if shape.micros < shape.stages or (shape.chunks > 1 and shape.micros % shape.stages):
        allowed = f"multiples of {shape.stages}" if shape.chunks > 1 else f"from {shape.stages}"
        raise UserError(
            f"parallel_config.micro_batch_num: {shape.micros} in a pipeline of {shape.stages} stages with "
            f"{shape.chunks} chunks each. Allowed: {allowed}."
        )
    return [list(_of_stage(shape, stage, kind)) for stage in range(shape.stages)]


def most_kept(shape: Shape, stage: int, kind: str = "1f1b") -> int:
    """Most passes of a stage whose forward half is done and whose backward half is not.

    Args:
        shape: how large the pipeline is.
        stage: the stage.
        kind: as for `schedule`.

    Source: Narayanan et al. 2021, Efficient Large-Scale Language Model Training on GPU Clusters, section 2.2.
    """
    total = shape.micros * shape.chunks
    return total if kind == "gpipe" else min(_passes_ahead(shape, stage) + 1, total)


def _of_stage(shape: Shape, stage: int, kind: str) -> Iterator[Pass]:
    total = shape.micros * shape.chunks
    ahead = total if kind == "gpipe" else min(_passes_ahead(shape, stage), total)
    yield from (_forward(shape, stage, number) for number in range(ahead))
    for number in range(total - ahead):
        yield _forward(shape, stage, ahead + number)
        yield _backward(shape, stage, number)
    yield from (_backward(shape, stage, number) for number in range(total - ahead, total))


def _passes_ahead(shape: Shape, stage: int) -> int:
    """Forward passes before the first backward pass can follow."""
    behind = shape.stages - 1 - stage
    if shape.chunks == 1:
        return behind
    return 2 * behind + (shape.chunks - 1) * shape.stages


def _forward(shape: Shape, stage: int, number: int) -> Pass:
    """The forward pass of that number: as many micro batches as there are stages, then the next chunk."""
    round_, place = divmod(number, shape.parts)
    chunk, micro = divmod(place, shape.stages)
    if shape.chunks == 1:
        return Pass(stage, 0, number)
    return Pass(stage, chunk, round_ * shape.stages + micro)


def _backward(shape: Shape, stage: int, number: int) -> Pass:
    """The backward pass of that number; the chunks follow each other the other way round."""
    one = _forward(shape, stage, number)
    return Pass(stage, shape.chunks - 1 - one.chunk, one.micro, backward=True)

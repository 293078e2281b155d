"""How long a step takes: products, attention, what operators move in memory, collectives, the pipeline's waiting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mf_parallel.planner.card import DeviceCard
from mf_parallel.planner.layout import BackEnd, Layout
from mf_parallel.planner.memory import BYTES, FLOAT32
from mf_parallel.planner.traffic import Traffic

_MOVES = 4
"""How often a forward pass reads or writes each element that its backward pass needs: operators between products read
what others wrote, and write it in other forms."""

_LOGIT_MOVES = 6
"""The same for logits, which softmax and logarithm pass over several times in float32."""

_UPDATE_MOVES = 5
"""Reads and writes of a weight's update beside those of what the optimizer keeps: weight and gradient, twice, and
the scaled gradient."""

_SUM_MOVES = 3
"""Reads and writes where a gradient is added to a sum."""

_BACKWARD = 2
"""A backward pass has two products for each one of the forward pass."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of a step.

    Attributes:
        computing: products and operators of the stage that takes longest.
        communication: collectives in its passes that computation does not hide.
        waiting: that the stage waits for others at the beginning and the end of a step.
        gradients: sums of gradients and gathering of weights, once a step.
        update: the optimizer.
    """

    computing: float
    communication: float
    waiting: float
    gradients: float
    update: float

    @property
    def total(self) -> float:
        """Seconds of a step."""
        return self.computing + self.communication + self.waiting + self.gradients + self.update

    @property
    def bubble(self) -> float:
        """Share of the passes' time in which the stage waits."""
        passes = self.computing + self.communication + self.waiting
        return self.waiting / passes if passes else 0.0


def step_time(layout: Layout, traffic: Sequence[Sequence[Traffic]], card: DeviceCard, kind: str) -> StepTime:
    """How long a step takes.

    Stages pass micro batches on: the slowest one is busy with each of them, and waits while the first one goes through
    the others and the last one comes back; with several chunks a stage for that part of it.

    Args:
        layout: the divided network.
        traffic: what a rank of each stage sends.
        card: the device.
        kind: type of numbers of the computation.

    Source: Narayanan et al. 2021, Efficient Large-Scale Language Model Training on GPU Clusters, sections 2.2 and 3.
    """
    stages, micros = range(layout.stages), layout.micro_batches
    forward = {block: _forward(layout, block, card, kind) for block in set(layout.network.kinds)}
    computing = [_computing(layout, stage, forward) for stage in stages]
    computing[-1] += _head(layout, card, kind)
    sending = [_seconds(found, card, in_pass=True) * card.shares.exposed / micros for found in traffic]
    each = [one + other for one, other in zip(computing, sending, strict=True)]
    slowest = max(stages, key=each.__getitem__)
    # mf itself adds gradients up when all of them are there; MindSpore while the backward pass goes on.
    exposed = card.shares.exposed if layout.back_end is BackEnd.MINDSPORE else 1.0
    return StepTime(
        computing=computing[slowest] * micros,
        communication=sending[slowest] * micros,
        waiting=(sum(each) - each[slowest]) / layout.chunks,
        gradients=max(_seconds(found, card, in_pass=False) for found in traffic) * exposed,
        update=max(_update(layout, stage, card) for stage in stages),
    )


def _seconds(found: Sequence[Traffic], card: DeviceCard, *, in_pass: bool) -> float:
    return sum(one.sent / card.link_rate(one.span) for one in found if one.in_pass is in_pass)


def _computing(layout: Layout, stage: int, forward: Mapping[int, float]) -> float:
    """Seconds in which a rank computes both passes of one micro batch through the blocks of a stage.

    Args:
        layout: the divided network.
        stage: the stage.
        forward: seconds of the forward pass of each kind of block.
    """
    kinds = layout.network.kinds
    return sum(forward[kinds[number]] * (layout.forward_passes(number) + _BACKWARD) for number in layout.blocks(stage))


def _forward(layout: Layout, number: int, card: DeviceCard, kind: str) -> float:
    """Seconds of a block's forward pass."""
    block, tokens = layout.network.blocks[number], layout.tokens
    products = 2 * tokens * layout.multiplications(number) / card.flops(kind, card.shares.matrix)
    scored = 2 * tokens * seen_keys(layout, number, card.fused_attention) * block.score_width / layout.degree("tp")
    attention = scored / card.flops(kind, card.shares.attention)
    kept = layout.kept_elements(block, scores=not card.fused_attention)
    return products + attention + _MOVES * tokens * kept * BYTES[kind] / card.memory_rate


def seen_keys(layout: Layout, number: int, skips_hidden: bool) -> float:
    """Keys that a query is multiplied with, on average over a row.

    Args:
        layout: the divided network.
        number: the block.
        skips_hidden: whether keys that no query of a tile sees take no time.
    """
    length, window = layout.network.row_length, layout.network.blocks[number].window
    if not skips_hidden:
        return length
    if window is None or window >= length:
        return (length + 1) / 2
    return window - window * (window - 1) / (2 * length)


def _head(layout: Layout, card: DeviceCard, kind: str) -> float:
    """Seconds in which both passes of head and loss are computed."""
    network, rows = layout.network, layout.vocabulary()
    elements = network.heads_used * layout.tokens * rows
    products = 2 * elements * network.hidden_size / card.flops(kind, card.shares.matrix)
    return (1 + _BACKWARD) * products + 2 * _LOGIT_MOVES * elements * FLOAT32 / card.memory_rate


def _update(layout: Layout, stage: int, card: DeviceCard) -> float:
    """Seconds of the optimizer's update, and of adding up the gradients of micro batches."""
    size = layout.total(layout.held(stage))
    summed = size.own if layout.back_end is BackEnd.MINDSPORE or layout.divides_gradients else size.whole
    accumulated = _SUM_MOVES * summed * layout.micro_batches if layout.micro_batches > 1 else 0
    moved = _UPDATE_MOVES * size.own + 2 * size.kept + accumulated
    return moved * FLOAT32 / card.memory_rate

"""How long a step takes: products, attention, what operators move in memory, collectives, the pipeline's waiting."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass

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
class _Work:
    """Seconds that passes compute, by what they do, as in `StepTime`."""

    products: float = 0.0
    attention: float = 0.0
    operators: float = 0.0
    repeated: float = 0.0

    @property
    def total(self) -> float:
        return self.products + self.attention + self.operators + self.repeated

    def __add__(self, other: "_Work") -> "_Work":
        return _Work(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: float) -> "_Work":
        return _Work(*(one * times for one in astuple(self)))


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of a step; the first five of the stage that takes longest.

    Attributes:
        products: of activations and weights, in both passes.
        attention: scores and sums of values, in both passes.
        operators: what those between products move in memory, in both passes.
        repeated: forward passes that are computed once more.
        communication: collectives in its passes that computation does not hide.
        waiting: that the stage waits for others at the beginning and the end of a step.
        gradients: sums of gradients and gathering of weights, once a step.
        update: the optimizer.
    """

    products: float
    attention: float
    operators: float
    repeated: float
    communication: float
    waiting: float
    gradients: float
    update: float

    @property
    def computing(self) -> float:
        """Seconds in which the slowest stage computes."""
        return self.products + self.attention + self.operators + self.repeated

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
    each = [one.total + other for one, other in zip(computing, sending, strict=True)]
    slowest = max(stages, key=each.__getitem__)
    # mf itself adds gradients up when all of them are there; MindSpore while the backward pass goes on.
    exposed = card.shares.exposed if layout.back_end is BackEnd.MINDSPORE else 1.0
    return StepTime(
        **asdict(computing[slowest] * micros),
        communication=sending[slowest] * micros,
        waiting=(sum(each) - each[slowest]) / layout.chunks,
        gradients=max(_seconds(found, card, in_pass=False) for found in traffic) * exposed,
        update=max(_update(layout, stage, card) for stage in stages),
    )


def _seconds(found: Sequence[Traffic], card: DeviceCard, *, in_pass: bool) -> float:
    return sum(one.sent / card.link_rate(one.span) for one in found if one.in_pass is in_pass)


def _computing(layout: Layout, stage: int, forward: Mapping[int, _Work]) -> _Work:
    """What a rank computes in both passes of one micro batch through the blocks of a stage.

    Args:
        layout: the divided network.
        stage: the stage.
        forward: the forward pass of each kind of block.
    """
    found = _Work()
    for number in layout.blocks(stage):
        once = forward[layout.network.kinds[number]]
        found += once * (1 + _BACKWARD) + _Work(repeated=once.total * (layout.forward_passes(number) - 1))
    return found


def _forward(layout: Layout, number: int, card: DeviceCard, kind: str) -> _Work:
    """A block's forward pass."""
    block, tokens = layout.network.blocks[number], layout.tokens
    scored = 2 * tokens * seen_keys(layout, number, card.fused_attention) * block.score_width / layout.degree("tp")
    kept = layout.kept_elements(block, scores=not card.fused_attention)
    return _Work(
        products=2 * tokens * layout.multiplications(number) / card.flops(kind, card.shares.matrix),
        attention=scored / card.flops(kind, card.shares.attention),
        operators=_MOVES * tokens * kept * BYTES[kind] / card.memory_rate,
    )


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


def _head(layout: Layout, card: DeviceCard, kind: str) -> _Work:
    """Both passes of head and loss."""
    network, rows = layout.network, layout.vocabulary()
    elements = network.heads_used * layout.tokens * rows
    products = 2 * elements * network.hidden_size / card.flops(kind, card.shares.matrix)
    moves = 2 * _LOGIT_MOVES * elements * FLOAT32 / card.memory_rate
    return _Work(products=(1 + _BACKWARD) * products, operators=moves)


def _update(layout: Layout, stage: int, card: DeviceCard) -> float:
    """Seconds of the optimizer's update, and of adding up the gradients of micro batches."""
    size = layout.total(layout.held(stage))
    summed = size.own if layout.back_end is BackEnd.MINDSPORE or layout.divides_gradients else size.whole
    accumulated = _SUM_MOVES * summed * layout.micro_batches if layout.micro_batches > 1 else 0
    moved = _UPDATE_MOVES * size.own + 2 * size.kept + accumulated
    return moved * FLOAT32 / card.memory_rate

"""What a rank sends along each axis of the mesh in a step."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from mf_parallel.plan import TOKEN_AXES
from mf_parallel.planner.layout import BackEnd, Layout
from mf_parallel.planner.memory import BYTES, FLOAT32


@dataclass(frozen=True, slots=True)
class Traffic:
    """Collectives of one kind in a step.

    Attributes:
        axis: the axis of the mesh; axes joined by `+` where several work as one.
        what: which collectives.
        sent: bytes that a rank sends in a step.
        span: neighbouring devices among which the members of a group stand.
        in_pass: whether computation waits for it in every pass of a micro batch; else it comes once a step.
    """

    axis: str
    what: str
    sent: int
    span: int
    in_pass: bool


def stage_traffic(layout: Layout, stage: int, kind: str) -> list[Traffic]:
    """What a rank of a stage sends.

    Args:
        layout: the divided network.
        stage: the stage.
        kind: type of numbers of the computation.

    Source: bytes of collectives over n ranks as a ring has them: Thakur et al. 2005, Optimization of Collective
        Communication Operations in MPICH, section 4.
    """
    found = [
        *_tensor_parallel(layout, stage, kind),
        *_context_parallel(layout, stage, kind),
        *_expert_parallel(layout, stage, kind),
        *_pipeline(layout, stage, kind),
        *_gradients(layout, stage, kind),
    ]
    return [traffic for traffic in found if traffic.sent]


def span_of(layout: Layout, *axes: str) -> int:
    """Neighbouring devices among which the members of a group along some axes stand."""
    mesh, span, inner = layout.optimizer.mesh, 1, 1
    for axis, degree in zip(reversed(mesh.axes), reversed(mesh.degrees), strict=True):
        inner *= degree
        if axis in axes and degree > 1:
            span = inner
    return span


def _tensor_parallel(layout: Layout, stage: int, kind: str) -> Iterator[Traffic]:
    """After attention and after the feed-forward what ranks have is added up, and before both in the backward pass.

    Where tokens are divided, the halves of each sum stand on both sides of the layers, and send as much.
    """
    ranks, hidden = layout.degree("tp"), layout.tokens * layout.network.hidden_size * BYTES[kind]
    summed = 2 * (ranks - 1) * hidden // ranks
    times = sum(2 * layout.forward_passes(number) + 2 for number in layout.blocks(stage))
    edges = layout.weights.parameters[next(iter(layout.network.before))].axes
    if "tp" in edges:
        # The lookup forward, the head backward.
        times += int(stage == 0) + layout.network.heads_used * int(layout.is_last(stage))
    yield Traffic("tp", "sums of activations", times * summed * layout.micro_batches, span_of(layout, "tp"), True)


def _context_parallel(layout: Layout, stage: int, kind: str) -> Iterator[Traffic]:
    """Keys and values are gathered over rings, or heads are exchanged for tokens."""
    rings = layout.degree("cp") // layout.exchanging
    size, ranks = layout.tokens * BYTES[kind] * layout.micro_batches, layout.exchanging
    gathered = exchanged = 0.0
    for number in layout.blocks(stage):
        block, passes = layout.network.blocks[number], layout.forward_passes(number) + 1
        local = size / layout.degree("tp")
        gathered += local * block.key_width * (rings - 1) * passes
        # Queries, keys and values there, results back.
        exchanged += local * (block.score_width + block.key_width) * (ranks - 1) / ranks * passes
    span = span_of(layout, "cp")
    yield Traffic("cp", "keys and values of other tokens", round(gathered), span, True)
    yield Traffic("cp", "heads for tokens", round(exchanged), span, True)


def _expert_parallel(layout: Layout, stage: int, kind: str) -> Iterator[Traffic]:
    """Tokens travel to their experts, and back."""
    ranks, sent = layout.degree("ep"), 0
    hidden = layout.tokens * layout.network.hidden_size * BYTES[kind] * layout.micro_batches
    for number in layout.blocks(stage):
        rows = layout.network.blocks[number].chosen * hidden
        sent += 2 * rows * (ranks - 1) // ranks * (layout.forward_passes(number) + 1)
    yield Traffic("ep", "tokens to experts and back", sent, span_of(layout, "ep"), True)


def _pipeline(layout: Layout, stage: int, kind: str) -> Iterator[Traffic]:
    """Hidden states to the next part, gradients to the one before."""
    if layout.stages == 1:
        return
    hidden = layout.tokens * layout.network.hidden_size * BYTES[kind]
    messages = sum((not part.is_last) + (not part.is_first) for part in layout.parts(stage))
    yield Traffic("pp", "hidden states", messages * hidden * layout.micro_batches, span_of(layout, "pp"), True)


def _gradients(layout: Layout, stage: int, kind: str) -> Iterator[Traffic]:
    """Gradients are added up over ranks with other tokens; divided state makes weights that are gathered again.

    MindSpore does both in the type of the computation.
    """
    plan, gathered = layout.optimizer, 0
    element = BYTES[kind] if layout.back_end is BackEnd.MINDSPORE else FLOAT32
    sums: Counter[tuple[str, ...]] = Counter()
    shards = plan.mesh.degree("zero") if "zero" in plan.mesh.axes else 1
    for name, count in layout.held(stage).items():
        divided = layout.weights.parameters[name].axes
        size = element * count * layout.size(name).whole
        sums[tuple(axis for axis in TOKEN_AXES if layout.degree(axis) > 1 and axis not in divided)] += size
        gathered += size if layout.size(name).copied else 0
    for axes, size in sums.items():
        ranks = math.prod(map(layout.degree, axes))
        if ranks > 1:
            # A divided sum is half of a whole one, but comes with every micro batch.
            times = layout.micro_batches if layout.divides_gradients else 2
            sent = times * (ranks - 1) * size // ranks
            yield Traffic("+".join(axes), "sums of gradients", sent, span_of(layout, *axes, "zero"), False)
    if shards > 1:
        sent = (shards - 1) * gathered // shards
        yield Traffic("zero", "updated weights", sent, span_of(layout, "zero"), False)

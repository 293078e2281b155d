"""Bytes on a rank of each pipeline stage."""

from dataclasses import dataclass

from mf_parallel.planner.card import DeviceCard
from mf_parallel.planner.layout import BackEnd, Layout

FLOAT32 = 4
"""Bytes of a weight, a gradient, and each tensor of an optimizer."""

BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}

_LOGIT_TENSORS = 3
"""Float32 tensors of the size of the logits that are alive at once: logits, probabilities, gradient."""

_GRADIENTS_AT_ONCE = 0.5
"""How many of the gradients of what a block keeps are alive at once."""


@dataclass(frozen=True, slots=True)
class StageMemory:
    """Bytes on a rank.

    Attributes:
        parameters: weights.
        optimizer: the optimizer's tensors, with its copies of the weights where these are divided.
        sums: gradients of several micro batches, added up; 0 where there is one.
        activations: what is kept from forward to backward passes, of all micro batches under way.
        working: what one step of a backward pass takes besides, at most.
        gradients: what a backward pass makes; they take the place of the activations that it has done with.
    """

    parameters: int
    optimizer: int
    sums: int
    activations: int
    working: int
    gradients: int

    @property
    def peak(self) -> int:
        """The most at any time: when a backward pass begins, or when it has ended."""
        passing = max(self.activations + self.working, self.gradients)
        return self.parameters + self.optimizer + self.sums + passing


def stage_memory(layout: Layout, stage: int, card: DeviceCard, kind: str) -> StageMemory:
    """What a rank of a stage holds.

    Args:
        layout: the divided network.
        stage: the stage.
        card: the device.
        kind: type of numbers of the computation.
    """
    size, by_mindspore = layout.total(layout.held(stage)), layout.back_end is BackEnd.MINDSPORE
    per_micro_batch = _activations(layout, stage, card, kind)
    summed = size.own if layout.divides_gradients or by_mindspore else size.whole
    # Divided weights are gathered in the type of the computation, and stay for the backward pass.
    gathered = BYTES[kind] * size.whole if by_mindspore and size.copied else 0
    return StageMemory(
        parameters=FLOAT32 * (size.own if by_mindspore else size.whole),
        optimizer=FLOAT32 * (size.kept + (0 if by_mindspore else size.copied)),
        sums=FLOAT32 * summed if layout.micro_batches > 1 else 0,
        activations=_kept(layout, stage, per_micro_batch, kind),
        working=_working(layout, stage, card, kind) + gathered,
        gradients=FLOAT32 * (size.own if by_mindspore else size.whole) // layout.chunks,
    )


def _activations(layout: Layout, stage: int, card: DeviceCard, kind: str) -> float:
    """Bytes that one micro batch keeps on a stage between its passes."""
    found = sum(_block_activations(layout, number, card, kind) for number in layout.blocks(stage))
    if layout.is_last(stage):
        # What enters the last norm, and the head.
        found += 2 * layout.tokens * layout.network.hidden_size * BYTES[kind]
    return found


def _block_activations(layout: Layout, number: int, card: DeviceCard, kind: str) -> float:
    block, again = layout.network.blocks[number], layout.recomputed
    size = layout.tokens * BYTES[kind]
    if number in again.whole:
        ranks = layout.degree("tp") if layout.weights.divided_tokens else 1
        kept = layout.network.hidden_size / ranks
        # On a device that keeps scores, attention is never computed again.
        return size * (kept + (_attention_kept(layout, number) if not card.fused_attention else 0))
    kept = layout.kept_elements(block, scores=not card.fused_attention)
    if layout.back_end is BackEnd.EXPLICIT:
        # MindSpore 2.10 plans as much memory for mf's graphs where it computes parts of a block again.
        return size * kept
    if number in again.products:
        kept -= block.product / layout.degree("tp")
    if number in again.norms:
        kept -= block.normed
    return size * kept


def _attention_kept(layout: Layout, number: int) -> float:
    """Elements for each token that attention itself keeps: queries, keys, values, scores, result."""
    block, network = layout.network.blocks[number], layout.network
    return (block.score_width + block.key_width + block.heads * network.row_length) / layout.degree("tp")


def _kept(layout: Layout, stage: int, per_micro_batch: float, kind: str) -> int:
    """Bytes kept for all micro batches under way."""
    flying = layout.in_flight(stage)
    if not layout.repeats_forward:
        return round(per_micro_batch * flying / layout.chunks)
    entering = layout.tokens * layout.network.hidden_size * BYTES[kind]
    return round(entering * flying + per_micro_batch / layout.chunks)


def _working(layout: Layout, stage: int, card: DeviceCard, kind: str) -> int:
    """Bytes of the largest step of a backward pass: the head, or a block, with all of it where it is computed again."""
    size = layout.tokens * BYTES[kind]
    head = _LOGIT_TENSORS * layout.tokens * layout.vocabulary() * FLOAT32 if layout.is_last(stage) else 0
    blocks = []
    for number in layout.blocks(stage):
        kept = size * layout.kept_elements(layout.network.blocks[number], scores=not card.fused_attention)
        blocks.append(kept * ((number in layout.recomputed.whole) + _GRADIENTS_AT_ONCE))
    return round(max(head, *blocks))

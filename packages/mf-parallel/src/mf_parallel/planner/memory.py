"""Bytes on a rank of each pipeline stage."""

from dataclasses import dataclass

from mf_parallel.planner.card import DeviceCard
from mf_parallel.planner.layout import BackEnd, Layout

FLOAT32 = 4
"""Bytes of a weight, a gradient, and each tensor of an optimizer."""

BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}

_LOGIT_TENSORS = 3
"""Float32 tensors of the size of the logits that are alive at once: logits, probabilities, gradient."""


@dataclass(frozen=True, slots=True)
class StageMemory:
    """Bytes on a rank.

    Attributes:
        parameters: weights.
        gradients: of the weights, or their sums over micro batches.
        optimizer: the optimizer's tensors, with its copies of the weights where these are divided.
        activations: what is kept from forward to backward passes, of all micro batches under way.
        working: what one pass takes besides, at most.
    """

    parameters: int
    gradients: int
    optimizer: int
    activations: int
    working: int

    @property
    def peak(self) -> int:
        """All of it."""
        return self.parameters + self.gradients + self.optimizer + self.activations + self.working


def stage_memory(layout: Layout, stage: int, card: DeviceCard, kind: str) -> StageMemory:
    """What a rank of a stage holds.

    Args:
        layout: the divided network.
        stage: the stage.
        card: the device.
        kind: type of numbers of the computation.
    """
    size = layout.total(layout.held(stage))
    by_mindspore = layout.back_end is BackEnd.MINDSPORE
    per_micro_batch = _activations(layout, stage, card, kind)
    divides_gradients = layout.divides_gradients or by_mindspore
    if by_mindspore:
        # Divided weights are gathered in the type of the computation, and stay for the backward pass.
        beside = BYTES[kind] * size.whole if size.copied else 0
    else:
        # Beside the sums stand the gradients of the present micro batch.
        beside = FLOAT32 * size.whole // layout.chunks if layout.micro_batches > 1 else 0
    return StageMemory(
        parameters=FLOAT32 * (size.own if by_mindspore else size.whole),
        gradients=FLOAT32 * (size.own if divides_gradients else size.whole),
        optimizer=FLOAT32 * (size.kept + (0 if by_mindspore else size.copied)),
        activations=_kept(layout, stage, per_micro_batch, kind),
        working=_working(layout, stage, card, kind) + beside,
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
    """Bytes of the largest pass over something that is not kept: a block that is computed again, or the head."""
    again = [layout.network.blocks[number] for number in layout.blocks(stage) if number in layout.recomputed.whole]
    size = layout.tokens * BYTES[kind]
    block = max((size * layout.kept_elements(one, scores=False) for one in again), default=0.0)
    head = _LOGIT_TENSORS * layout.tokens * layout.vocabulary() * FLOAT32 if layout.is_last(stage) else 0
    return round(max(block, head))

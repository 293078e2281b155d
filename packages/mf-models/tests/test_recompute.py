"""Activations that are computed again: which blocks and parts, and that no result changes by a bit."""

from typing import Any

import numpy as np
import pytest
from mindspore import Parameter, Tensor, nn, ops

from mf_config.sections.memory import RecomputeSection
from mf_models.families.llama import LlamaConfig
from mf_models.initializers import initialize
from mf_models.network_part import keep_part
from mf_models.networks import build, parameters
from mf_models.recompute import chosen_blocks, recompute, selected_blocks
from mf_parallel.stages import Part

ONE_STAGE = [[range(6)]]
TWO_STAGES = [[range(3), range(3, 6)]]
TWO_CHUNKS = [[range(2), range(2, 4)], [range(4, 6), range(6, 8)]]


@pytest.mark.parametrize(
    ("choice", "chunks", "expected"),
    [
        (True, ONE_STAGE, {0, 1, 2, 3, 4, 5}),
        (False, ONE_STAGE, set()),
        (2, ONE_STAGE, {0, 1}),
        (1, TWO_STAGES, {0, 3}),
        ((2, 1), TWO_STAGES, {0, 1, 3}),
        ((False, True), TWO_STAGES, {3, 4, 5}),
        ((2,), TWO_STAGES, {0, 1}),
        ((3, 0), TWO_CHUNKS, {0, 1, 4}),
        (((1, 0), (0, 2)), TWO_CHUNKS, {0, 6, 7}),
    ],
)
def test_blocks_are_chosen_in_every_stage(choice: Any, chunks: Any, expected: set[int]) -> None:
    assert chosen_blocks(choice, chunks) == expected


def test_patterns_have_choices_of_their_own() -> None:
    usual = ("a", "b")
    assert dict(selected_blocks((1,), usual, TWO_STAGES)) == {"a": {0}, "b": {0}}
    assert dict(selected_blocks(("x", "y"), usual, ONE_STAGE)) == {"x": set(range(6)), "y": set(range(6))}
    chosen = selected_blocks({"x": (1, 2), "y": False, "z": 1}, usual, TWO_STAGES)
    assert dict(chosen) == {"x": {0, 3, 4}, "z": {0, 3}}
    assert not list(selected_blocks(False, usual, ONE_STAGE))


class _Gradients(nn.Cell):
    """Loss and gradients of a model."""

    def __init__(self, model: nn.Cell, trained: list[Parameter]):
        super().__init__(auto_prefix=False)
        self.model = model
        self.differentiate = ops.value_and_grad(self.loss, None, trained)

    def loss(self, ids_BT: Tensor) -> Tensor:
        """Any scalar that depends on all weights."""
        return (self.model(ids_BT) ** 2).sum()

    def construct(self, ids_BT: Tensor) -> Any:
        """Loss and gradients."""
        return self.differentiate(ids_BT)


def results(section: RecomputeSection) -> tuple[list[np.ndarray], nn.Cell, list[str]]:
    config = LlamaConfig(
        hidden_size=16, num_layers=1, num_heads=2, intermediate_size=24, vocab_size=40, initializer_range=0.2
    )
    model = build(config)
    initialize(model, 0)
    unused = recompute(model, section, [[range(1)]])
    ids_BT = Tensor(np.arange(12, dtype=np.int32).reshape(2, 6))
    loss, gradients = _Gradients(model, list(parameters(model).values()))(ids_BT)
    return [loss.asnumpy(), *(gradient.asnumpy() for gradient in gradients)], model, unused


@pytest.fixture(scope="module")
def kept() -> list[np.ndarray]:
    return results(RecomputeSection())[0]


def is_recomputed(cell: nn.Cell) -> bool:
    return bool(getattr(cell, "_has_config_recompute", False))


def test_whole_blocks(kept: list[np.ndarray]) -> None:
    again, model, unused = results(RecomputeSection(recompute=True, select_recompute_exclude=("ffn_norm",)))
    block = model.model.layers[0]
    assert all(np.array_equal(one, other) for one, other in zip(kept, again, strict=True))
    assert (
        is_recomputed(block.feed_forward) and is_recomputed(block.attention.wq) and is_recomputed(block.attention_norm)
    )
    assert not is_recomputed(block.ffn_norm) and not is_recomputed(block.attention) and not unused


def test_single_parts(kept: list[np.ndarray]) -> None:
    section = RecomputeSection(select_recompute=(True,), select_comm_recompute=(r".*_norm\.norm", r"nothing\.here"))
    again, model, unused = results(section)
    block = model.model.layers[0]
    assert all(np.array_equal(one, other) for one, other in zip(kept, again, strict=True))
    assert isinstance(block.feed_forward.gate, nn.Cell) and is_recomputed(block.feed_forward.gate)
    assert is_recomputed(block.attention_norm) and is_recomputed(block.ffn_norm)
    assert not is_recomputed(block.feed_forward) and not is_recomputed(block.feed_forward.w1)
    assert unused == [r"nothing\.here"]


@pytest.mark.parametrize(
    ("choice", "chunks", "own", "expected"),
    [
        ((1, 2), TWO_STAGES, range(3), {0}),
        ((1, 2), TWO_STAGES, range(3, 6), {3, 4}),
        ((False, True), TWO_STAGES, range(3), set()),
        (((1, 0), (0, 2)), TWO_CHUNKS, range(2), {0}),
        (((1, 0), (0, 2)), TWO_CHUNKS, range(2, 4), set()),
        (((1, 0), (0, 2)), TWO_CHUNKS, range(6, 8), {6, 7}),
        # Uneven stages, as `offset` makes them.
        ((2, 1), [[range(2), range(2, 8)]], range(2, 8), {2}),
    ],
)
def test_a_stage_takes_its_own_number_of_a_list(choice: Any, chunks: Any, own: range, expected: set[int]) -> None:
    blocks = chunks[-1][-1].stop
    model = build(LlamaConfig(hidden_size=8, num_layers=blocks, num_heads=2, intermediate_size=8, vocab_size=16))
    ends = own.start == 0, own.stop == blocks
    keep_part(model, Part(own, *ends))
    recompute(model, RecomputeSection(recompute=choice), chunks, own)
    found = {
        number
        for number, block in zip(own, model.model.layers, strict=True)
        if is_recomputed(block.feed_forward) and is_recomputed(block.attention_norm)
    }
    assert found == expected

"""Recomputation with a number for each stage: both stages of a pipeline in one process, one graph after another."""

from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import ParameterTuple, Tensor, nn

from mf_config.sections.memory import RecomputeSection
from mf_models.families.llama import LlamaConfig
from mf_models.initializers import initialize
from mf_models.kernels import select_kernels
from mf_models.network_part import keep_part
from mf_models.networks import build
from mf_models.recompute import recompute
from mf_parallel.stages import Part
from mf_train.pipeline.graphs import LastPartBackward, PartBackward, PartForward
from mf_train.step.graphs import LossSum, Sums
from mf_train.tasks.causal_lm import CausalLanguageModelingTrainer

pytestmark = pytest.mark.usefixtures("graph_mode")

CHUNKS = [[range(1), range(1, 2)]]
CONFIG = LlamaConfig(
    hidden_size=16, num_layers=2, num_heads=2, intermediate_size=24, vocab_size=40, seq_length=8, initializer_range=0.2
)
TASK = CausalLanguageModelingTrainer()
ROWS = TASK.examples({"input_ids": np.random.default_rng(0).integers(1, 40, (2, 7)).astype(np.int32)}, -100)
KEPT: list[nn.Cell] = []
"""MindSpore 2.10 mistakes a new function for a freed one at the same address: nothing that was compiled is freed."""


def stage(blocks: range, section: RecomputeSection) -> tuple[Any, ParameterTuple, Sums]:
    """One stage of the network, its weights, and the sums of their gradients."""
    network = build(CONFIG)
    initialize(network, 0)
    keep_part(network, Part(blocks, blocks.start == 0, blocks.stop == CONFIG.num_layers))
    recompute(network, section, CHUNKS, blocks)
    network.set_train()
    trained = ParameterTuple(network.trainable_params())
    return network, trained, Sums(trained)


def computes_again(network: Any) -> bool:
    return bool(getattr(network.model.layers[0].feed_forward, "_has_config_recompute", False))


def test_a_stage_that_computes_again_changes_no_bit() -> None:
    section = RecomputeSection(recompute=(0, 1))
    first, held, sums = stage(CHUNKS[0][0], section)
    assert not computes_again(first)
    forward = PartForward(first, nn.Identity())
    before = PartBackward(forward, held, tuple(range(len(held))), sums, takes_ids=True)
    KEPT.extend((forward, before))
    ids_BT, labels_BT, weights_BT = (Tensor(x) for x in (ROWS.input_ids_BT, ROWS.labels_BT, ROWS.weights_BT))
    scale, is_first = Tensor(1.0, ms.float32), Tensor(True)
    x_BTD = forward(ids_BT, None)
    results = []
    for again in (False, True):
        last, last_held, last_sums = stage(CHUNKS[0][1], section if again else RecomputeSection())
        assert computes_again(last) is again
        loss_sum = LossSum(last, TASK.objective(select_kernels()))
        behind = LastPartBackward(loss_sum, last_held, tuple(range(len(last_held))), last_sums)
        KEPT.append(behind)
        gradient_BTD = behind(x_BTD, labels_BT, weights_BT, None, scale, is_first)
        before(ids_BT, gradient_BTD, weights_BT, None, scale, is_first)
        found = [tensor.asnumpy() for tensor in (last_sums.loss, *sums.gradients, *last_sums.gradients)]
        assert all(np.abs(number).max() > 0 for number in found[:2])
        results.append(found)
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))

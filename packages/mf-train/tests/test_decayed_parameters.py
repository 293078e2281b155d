"""Which parameters of whole networks are decayed, and which get no gradient at all."""

from typing import Any

import numpy as np
import pytest
from mindspore import nn, ops

import mf_models
from mf_models.config_keys.dropless import dropless
from mf_models.families.deepseek_v3 import DeepseekV3Config
from mf_models.families.gpt2 import GPT2Config
from mf_models.families.llama import LlamaConfig
from mf_models.families.qwen3 import Qwen3Config
from mf_models.initializers import initialize
from mf_models.kernels import select_kernels
from mf_train.optimizers.adamw import AdamW
from mf_train.step.batch_tensors import tensors_of
from mf_train.step.graphs import LossSum
from mf_train.step.update import ParameterUpdate
from mf_train.tasks.causal_lm import CausalLanguageModelingTrainer

pytestmark = pytest.mark.usefixtures("graph_mode")

SIZES: dict[str, Any] = {"seq_length": 8, "hidden_size": 16, "num_layers": 2, "num_heads": 2, "vocab_size": 24}
LATENT: dict[str, Any] = {"q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4}
EXPERTS = dropless(
    expert_num=4,
    num_experts_chosen=2,
    moe_intermediate_size=8,
    shared_expert_num=1,
    first_k_dense_replace=1,
    topk_method="group_limited_greedy",
    n_group=2,
    topk_group=1,
)
NETWORKS: dict[str, Any] = {
    "qwen2": LlamaConfig(**SIZES, intermediate_size=24, qkv_has_bias=True, tie_word_embeddings=True),
    "qwen3": Qwen3Config(**SIZES, n_kv_heads=1, kv_channels=8, intermediate_size=24),
    "gpt2": GPT2Config(**SIZES, bos_token_id=0, eos_token_id=0, pad_token_id=0),
    "deepseek_v3": DeepseekV3Config(
        **SIZES, **LATENT, v_head_dim=4, intermediate_size=24, moe_config=EXPERTS, extend_method=None
    ),
}
UNDECAYED = {
    "qwen2": ("attention.wq.bias", "attention.wk.bias", "attention.wv.bias", "norm.weight"),
    "qwen3": ("q_norm.weight", "k_norm.weight", "norm.weight"),
    "gpt2": ("bias", "norm.weight"),
    "deepseek_v3": ("router.bias", "norm.weight"),
}
"""Ends of names that must be among those without decay."""


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: pytest.FixtureRequest) -> tuple[str, nn.Cell]:
    """A small network of the family."""
    cell = mf_models.build(NETWORKS[request.param])
    initialize(cell, seed=0)
    return request.param, cell


def test_norms_and_biases_are_not_decayed(network: tuple[str, nn.Cell]):
    """Case c16, on whole networks."""
    name, cell = network
    update = ParameterUpdate(list(cell.trainable_params()), AdamW(weight_decay=0.1).rule(select_kernels()), 0.1)
    decays = {one.name: decay for one, decay in zip(update.parameters, update.decays, strict=True)}
    kept = {one for one, decay in decays.items() if decay == 0}
    assert kept == {one for one in decays if one.endswith("bias") or "norm" in one}, sorted(kept)
    assert {decay for one, decay in decays.items() if one not in kept} == {0.1}
    for end in UNDECAYED[name]:
        assert any(one.endswith(end) for one in kept), f"{end}: {sorted(kept)}"


def test_the_correction_of_the_choice_of_experts_gets_no_gradient():
    cell = mf_models.build(NETWORKS["deepseek_v3"])
    initialize(cell, seed=0)
    task = CausalLanguageModelingTrainer()
    rows = task.examples({"input_ids": np.random.default_rng(0).integers(1, 24, (3, 9)).astype(np.int32)}, -100)
    parameters = list(cell.set_train().trainable_params())
    loss_sum = LossSum(cell, task.objective(select_kernels()))
    one = tensors_of(rows)[2].sum() * 0 + 1
    _, gradients = ops.value_and_grad(loss_sum, None, parameters, has_aux=True)(*tensors_of(rows), one)
    sizes = {one.name: float(np.abs(found.asnumpy()).max()) for one, found in zip(parameters, gradients, strict=True)}
    without = {name for name, size in sizes.items() if size == 0}
    (bias,) = (name for name in sizes if name.endswith("router.bias"))
    assert bias in without
    assert not {name for name in without if "expert" not in name and name != bias}

"""Sections and config.json files of models with experts: what they mean, and what a family can't do."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mf_config.layout import Shard
from mf_config.problems import ConfigError
from mf_config.sections.model import ArchSection, ModelSection
from mf_config.sections.moe import MoeSection
from mf_config.sections.run import RunConfig
from mf_models.checkpoint_family import placement_rules
from mf_models.config_keys.dropless import dropless
from mf_models.families.llama import LlamaConfig
from mf_models.families.mixtral import MixtralConfig
from mf_models.families.qwen2_moe import Qwen2MoeConfig
from mf_models.families.qwen3_moe import Qwen3MoeConfig
from mf_models.layers.config import DecoderConfig
from mf_models.layers.moe_config import MoeConfig
from mf_models.registry import config_from_hf, family_of

Read = Callable[..., tuple[Any, list[str]]]

SIZES = "hidden_size: 48\nnum_layers: 4\nnum_heads: 4\nvocab_size: 160\nintermediate_size: 96\neos_token_id: 2\n"
MIXTRAL = MoeSection(expert_num=8, num_experts_chosen=2, aux_loss_factor=0.05)
QWEN = replace(MIXTRAL, shared_expert_num=4, use_shared_expert_gating=True, norm_topk_prob=False)


def llama(**keys: Any) -> LlamaConfig:
    return LlamaConfig(hidden_size=48, num_heads=4, intermediate_size=96, theta=1e6, **keys)


def test_llama_with_experts_is_mixtral() -> None:
    family = llama().with_experts(MIXTRAL)
    assert isinstance(family, MixtralConfig)
    assert (family.theta, family.inner_size, family.moe_config) == (1e6, 96, MIXTRAL)
    assert not [*family.problems()]


def test_experts_beside_a_llama_that_finds_classes_keep_the_classes() -> None:
    arch = ArchSection(type="LlamaForSequenceClassification")
    config = RunConfig(model=ModelSection(arch=arch, model_config=llama(num_labels=3)), moe_config=MIXTRAL)
    assert config.model.arch == ArchSection(type="MixtralForSequenceClassification")
    assert isinstance(config.model.model_config, MixtralConfig)
    assert config.model.model_config.num_labels == 3


def test_llama_with_biases_and_a_shared_expert_is_qwen2() -> None:
    family = llama(qkv_has_bias=True).with_experts(QWEN)
    assert isinstance(family, Qwen2MoeConfig)
    assert (family.moe_config.moe_intermediate_size, family.shared_size) == (96, 384)
    assert not [*family.problems()]


@pytest.mark.parametrize(
    ("biased", "section", "key"),
    [
        (False, replace(MIXTRAL, norm_topk_prob=False), "norm_topk_prob"),
        (False, replace(MIXTRAL, topk_method="group_limited_greedy", n_group=2, topk_group=1), "topk_method"),
        (False, replace(MIXTRAL, num_experts_chosen=9), "num_experts_chosen"),
        (False, replace(MIXTRAL, expert_group_size=3), "expert_group_size"),
        (False, replace(MIXTRAL, aux_loss_types=("expert",)), "aux_loss_factors"),
        (False, replace(MIXTRAL, aux_loss_types=("comm",), aux_loss_factors=(0.1,)), "aux_loss_types"),
        (True, MIXTRAL, "use_shared_expert_gating"),
        (False, replace(QWEN, use_shared_expert_gating=False), "use_shared_expert_gating"),
        (True, replace(QWEN, shared_expert_num=0), "shared_expert_num"),
    ],
)
def test_what_no_family_computes_is_named(biased: bool, section: MoeSection, key: str) -> None:
    problems = [*llama(qkv_has_bias=biased).with_experts(section).problems()]
    assert f"moe_config.{key}" in [name for name, _, _ in problems]


def test_sections_say_which_blocks_have_experts(read_section: Read) -> None:
    text = f"type: Qwen3MoeConfig\n{SIZES}mlp_only_layers: [1]\ndecoder_sparse_step: 2\nmoe_config:\n  expert_num: 4\n"
    section, mistakes = read_section(text)
    assert not mistakes
    assert section.dense_layers == (0, 1, 2)
    assert section.moe_config.expert_num == 4
    assert read_section(text + "  expert_nun: 4\n")[1][0].startswith("12: moe_config.expert_nun: unknown key.")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("mixtral", "router_jitter_noise", 0.1),
        ("mixtral", "num_experts_per_tok", 5),
        ("qwen2_moe", "mlp_only_layers", 3),
        ("qwen2_moe", "use_sliding_window", True),
        ("qwen2_moe", "router_aux_loss_coef", -1),
        ("qwen3_moe", "moe_intermediate_size", 0),
        ("qwen3_moe", "mlp_only_layers", ["first"]),
    ],
)
def test_a_config_json_that_is_not_understood_is_refused(name: str, key: str, value: object, data: Path) -> None:
    found = json.loads((data / name / "config.json").read_text())
    shown = "moe_config.num_experts_chosen" if key == "num_experts_per_tok" else key
    with pytest.raises(ConfigError, match=shown):
        config_from_hf(found | {key: value}, "config.json")


def test_both_names_of_the_number_of_experts_are_read(data: Path) -> None:
    found = json.loads((data / "qwen3_moe" / "config.json").read_text())
    older = {**found, "num_experts": found["num_local_experts"]}
    del older["num_local_experts"]
    assert Qwen3MoeConfig.from_hf(older) == Qwen3MoeConfig.from_hf(found)


def test_the_balance_loss_is_that_of_hugging_face(data: Path) -> None:
    # There, the shares of a token's experts sum to their number; here, to 1.
    config = Qwen3MoeConfig.from_hf(json.loads((data / "qwen3_moe" / "config.json").read_text()))
    assert MoeConfig.of(config.moe_config, expert_size=32).balance_factor == pytest.approx(0.001 * 3)


def test_losses_are_named_by_their_blocks() -> None:
    section = replace(MIXTRAL, aux_loss_types=("device", "expert"), aux_loss_factors=(0.1, 0.2), z_loss_factor=0.3)
    moe = MoeConfig.of(section, expert_size=4, dense_layers=(0,))
    assert (moe.balance_factor, moe.group_balance_factor, moe.z_factor) == (0.2, 0.1, 0.3)
    config = DecoderConfig.of(llama(num_layers=2), moe=moe)
    assert config.loss_names == ("layers.1.balance", "layers.1.group_balance", "layers.1.z")
    assert not DecoderConfig.of(llama(num_layers=2)).loss_names


def test_experts_are_divided_over_ep_and_each_of_them_over_tp() -> None:
    family = llama().with_experts(MIXTRAL)
    table = family_of(family).sharding(family)
    cell = "model.layers.3.feed_forward.ffn"
    assert table.match(f"{cell}.w1.weight").placements == (Shard(0, "ep"), Shard(1, "tp"))
    assert table.match(f"{cell}.w2.weight").placements == (Shard(0, "ep"), Shard(2, "tp"))
    # A file has each expert by itself.
    name = "model.layers.3.block_sparse_moe.experts.7.w2.weight"
    (stored,) = [rule for rule in placement_rules(family) if rule.matches(name)]
    assert stored.divisions == (Shard(1, "tp"),)


def test_published_models_drop_no_token() -> None:
    assert MoeConfig.of(dropless(expert_num=4), expert_size=4).capacity_factor == 0
    assert MoeConfig.of(dropless(expert_num=4), expert_size=4).loss_names == ()

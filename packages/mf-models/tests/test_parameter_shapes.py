"""The shapes that are told without MindSpore are those of the cells, for every family."""

import dataclasses
from typing import Any

import pytest

from mf_config.components import components
from mf_config.schema import tag_of
from mf_models.networks import build, parameters
from mf_models.parameter_shapes import parameter_shapes
from mf_models.registry import family_of

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_layers": 3,
    "num_heads": 4,
    "num_attention_heads": 4,
    "n_kv_heads": 2,
    "multi_query_group_num": 2,
    "intermediate_size": 48,
    "ffn_hidden_size": 48,
    "kv_channels": 8,
    "vocab_size": 40,
    "padded_vocab_size": 40,
    "seq_length": 16,
    "head_dim": 8,
    "q_lora_rank": 12,
    "kv_lora_rank": 10,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
"""Small values of the keys that families have for their sizes."""

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "LlamaConfig": [{}, {"tie_word_embeddings": True, "qkv_has_bias": True}],
    "Baichuan2Config": [{"n_kv_heads": 4}, {"n_kv_heads": 4, "alibi": True}],
    "DeepseekV3Config": [{"extend_method": None}, {"extend_method": None, "mtp_depth": 2}],
    "DeepseekV2Config": [{"extend_method": None}, {"extend_method": None, "q_lora_rank": None}],
    "QwenConfig": [{"n_kv_heads": 4}],
    "GPT2Config": [{}, {"hidden_act": "relu"}],
    "InternLMConfig": [{"has_bias": True}, {"has_bias": False}],
}
"""What a family has with and without."""


def _families() -> list[str]:
    tags = {cls.__name__: tag_of(cls) for cls in components("model").values()}
    return sorted(name for name, tag in tags.items() if tag is not None and not tag.pending)


def _small(name: str, changes: dict[str, Any]) -> Any:
    cls = next(cls for cls in components("model").values() if cls.__name__ == name)
    fields = {field.name for field in dataclasses.fields(cls)}
    values = {key: value for key, value in {**SIZES, **changes}.items() if key in fields}
    config = cls(**values)
    if hasattr(config, "moe_config"):
        section = dataclasses.replace(
            config.moe_config, expert_num=4, num_experts_chosen=2, moe_intermediate_size=12, n_group=2, topk_group=1
        )
        config = config.with_experts(section)
    return config


@pytest.mark.parametrize("name", _families())
def test_names_shapes_and_order_are_those_of_the_cells(name: str) -> None:
    for changes in VARIANTS.get(name, [{}]):
        config = _small(name, changes)
        told = parameter_shapes(family_of(config).decoder(config))
        made = {key: tuple(parameter.shape) for key, parameter in parameters(build(config)).items()}
        assert list(told.items()) == list(made.items())

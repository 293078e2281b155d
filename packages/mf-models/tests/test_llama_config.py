"""Llama's configuration, and its Hugging Face form. No MindSpore is needed here."""

import json
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from mf_config.components import components
from mf_config.problems import ConfigError, UserError
from mf_config.schema import key_of
from mf_models.families.llama import LlamaConfig
from mf_models.registry import config_from_hf, family_of

HOST_ONLY = [
    "mf_models",
    "mf_models.registry",
    "mf_models.hf_config",
    "mf_models.gguf_config",
    "mf_models.layers.config",
    "mf_models.model_config",
    "mf_models.pet.lora",
    "mf_models.families.cogvlm2",
    "mf_models.families.llama",
    "mf_models.families.llama.keys",
    "mf_models.families.llama.sharding",
    "mf_models.families.gemma2",
    "mf_models.families.gpt2.keys",
    "mf_models.families.gpt2.sharding",
]


@pytest.fixture
def hf(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((data / "llama_gqa" / "config.json").read_text())
    return found


def test_it_is_a_component_with_its_architecture() -> None:
    assert components("model")["LlamaConfig"] is LlamaConfig
    assert LlamaConfig.architectures[0] == "LlamaForCausalLM"
    assert set(LlamaConfig.pending_architectures) == {"ParallelLlamaForCausalLM"}


def test_every_key_says_what_it_does() -> None:
    assert all(len(key_of(declared).doc) > 8 for declared in fields(LlamaConfig))


def test_host_only_modules_import_no_mindspore() -> None:
    script = f"import sys, {', '.join(HOST_ONLY)}; assert 'mindspore' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize(
    ("hidden_size", "multiplier", "multiple_of", "expected"),
    [(4096, None, 256, 11008), (5120, None, 256, 13824), (8192, 1.3, 4096, 28672), (48, None, 1, 128)],
)
def test_computed_inner_sizes_are_those_of_published_models(
    hidden_size: int, multiplier: float | None, multiple_of: int, expected: int
) -> None:
    config = LlamaConfig(hidden_size=hidden_size, ffn_dim_multiplier=multiplier, multiple_of=multiple_of)
    assert config.inner_size == expected


@pytest.mark.parametrize(
    ("changes", "key_name"),
    [
        ({"hidden_size": 4100, "num_heads": 32}, "hidden_size"),
        ({"hidden_size": 96, "num_heads": 32}, "hidden_size"),
        ({"n_kv_heads": 5}, "n_kv_heads"),
        ({"max_position_embedding": 1024}, "max_position_embedding"),
        ({"bos_token_id": 32000}, "bos_token_id"),
        ({"eos_token_id": (2, 40000)}, "eos_token_id"),
        ({"pad_token_id": 32000}, "pad_token_id"),
        ({"extend_method": "YARN"}, "scaling_factor"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], key_name: str) -> None:
    assert not list(LlamaConfig().problems())
    found = list(replace(LlamaConfig(), **changes).problems())
    assert [name for name, _, _ in found] == [key_name]


def test_hugging_face_form_is_read(hf: dict[str, Any]) -> None:
    config = LlamaConfig.from_hf(hf)
    assert (config.num_layers, config.num_heads, config.n_kv_heads, config.head_dim) == (2, 4, 2, 12)
    assert (config.inner_size, config.vocab_size, config.max_positions, config.theta) == (96, 160, 128, 10000.0)
    assert (config.bos_token_id, config.eos_token_ids, config.pad_token_id) == (1, (2,), 0)


def test_hugging_face_form_goes_there_and_back(hf: dict[str, Any]) -> None:
    config = LlamaConfig.from_hf({**hf, "eos_token_id": [2, 5], "rope_theta": 5e5, "tie_word_embeddings": True})
    assert config.eos_token_id == (2, 5)
    assert LlamaConfig.from_hf(json.loads(json.dumps(config.to_hf()))) == config


def test_both_spellings_give_the_same(hf: dict[str, Any]) -> None:
    newer = {name: value for name, value in hf.items() if name not in ("rope_theta", "rope_scaling", "torch_dtype")}
    newer |= {"rope_parameters": {"rope_theta": 7e4, "rope_type": "default"}, "dtype": "bfloat16"}
    assert LlamaConfig.from_hf(newer) == LlamaConfig.from_hf({**hf, "rope_theta": 7e4})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"rope_scaling": {"rope_type": "spiral"}},
            "rope_scaling.rope_type: 'spiral' is not supported. Allowed: default,",
        ),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 2.0}}, "rope_scaling.low_freq_factor: is missing"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0, "fast": 1}}, "rope_scaling.fast: unknown key"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, "rope_scaling.factor: 0 is out of range"),
        ({"rope_scaling": "linear"}, "rope_scaling: 'linear' has the wrong type. Allowed: a section or null"),
        ({"model_type": "qwen2", "use_sliding_window": True}, "use_sliding_window: True is not supported"),
        ({"rope_parameters": 3}, "rope_parameters: 3 is not a section"),
        ({"attention_bias": True}, "attention_bias: True is not supported. Allowed: False"),
        ({"mlp_bias": True}, "mlp_bias: True is not supported"),
        ({"hidden_act": "gelu"}, "hidden_act: 'gelu' is not supported. Allowed: silu"),
        ({"head_dim": 15}, "kv_channels: 15 is odd, so it can't be rotated"),
        ({"hidden_size": "48"}, "hidden_size: '48' has the wrong type. Allowed: a positive integer"),
        ({"num_key_value_heads": 3}, "n_kv_heads: 3 does not divide num_heads 4"),
        ({"num_hidden_layers": 0}, "num_hidden_layers: 0 is out of range. Allowed: above 0"),
        ({"num_key_value_heads": True}, "num_key_value_heads: True has the wrong type"),
        ({"rope_theta": "1e4"}, "rope_theta: '1e4' has the wrong type. Allowed: a positive number"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings: 'no' has the wrong type. Allowed: true or false"),
        ({"eos_token_id": ["a"]}, "eos_token_id: 'a' has the wrong type. Allowed: token ids"),
        ({"rope_interleaved": True}, "rope_interleaved: True is not supported"),
        ({"slding_window": 4}, "slding_window: unknown key"),
        ({"rms_norm_epz": 1e-5}, "rms_norm_epz: unknown key.*Did you mean rms_norm_eps?"),
    ],
)
def test_what_would_change_numbers_is_refused(hf: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"my.json: {re.escape(message) if '.*' not in message else message}"):
        LlamaConfig.from_hf({**hf, **changes}, "my.json")


def test_heads_may_be_wider_than_the_residual_stream_divides(hf: dict[str, Any]) -> None:
    config = LlamaConfig.from_hf({**hf, "head_dim": 16}, "my.json")
    assert (config.hidden_size, config.num_heads, config.head_dim) == (48, 4, 16)
    assert config.to_hf()["head_dim"] == 16


def test_all_mistakes_of_a_file_are_named_at_once(hf: dict[str, Any]) -> None:
    del hf["vocab_size"]
    with pytest.raises(ConfigError) as caught:
        LlamaConfig.from_hf({**hf, "mlp_bias": True, "bogus": 1})
    assert [problem.path for problem in caught.value.problems] == ["bogus", "mlp_bias", "vocab_size"]


def test_what_is_absent_has_hugging_faces_default(hf: dict[str, Any]) -> None:
    names = ("pad_token_id", "bos_token_id", "eos_token_id", "rms_norm_eps", "head_dim")
    absent = {name: value for name, value in hf.items() if name not in names}
    config = LlamaConfig.from_hf({**absent, "num_key_value_heads": None})
    assert (config.bos_token_id, config.eos_token_id, config.pad_token_id) == (1, 2, None)
    assert (config.num_kv_heads, config.rms_norm_eps) == (4, 1e-6)


def test_null_is_no_token_there_and_back(hf: dict[str, Any]) -> None:
    config = LlamaConfig.from_hf({**hf, "pad_token_id": None, "bos_token_id": None, "eos_token_id": None})
    assert (config.bos_token_id, config.eos_token_ids, config.pad_token_id) == (None, (), None)
    assert not list(config.problems())
    written = config.to_hf()
    assert [written[name] for name in ("bos_token_id", "eos_token_id", "pad_token_id")] == [None] * 3
    assert LlamaConfig.from_hf(json.loads(json.dumps(written))) == config


def test_the_hugging_face_form_tells_how_weights_are_stored_and_one_architecture() -> None:
    written = LlamaConfig(param_init_type="bfloat16").to_hf()
    assert (written["torch_dtype"], written["architectures"]) == ("float32", ["LlamaForCausalLM"])


def test_the_model_type_chooses_the_family(hf: dict[str, Any]) -> None:
    assert isinstance(config_from_hf(hf, "config.json"), LlamaConfig)
    with pytest.raises(UserError, match=r"config.json: model_type: no family 'lama'.*llama.*Did you mean llama\?"):
        config_from_hf({**hf, "model_type": "lama"}, "config.json")


def test_the_family_is_the_folder_of_the_config() -> None:
    assert family_of(LlamaConfig()).package == "mf_models.families.llama"

"""Published sizes by name, in run files and in programs."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mf_config
from mf_config.components import components
from mf_config.problems import UserError
from mf_config.schema import tag_of
from mf_models.families.baichuan2 import Baichuan2Config
from mf_models.families.chatglm2 import ChatGLM2Config
from mf_models.families.llama import LlamaConfig
from mf_models.parameter_shapes import parameter_shapes
from mf_models.presets import PRESETS, preset
from mf_models.registry import config_from_hf, family_of

Read = Callable[..., tuple[Any, list[str]]]

PARAMETERS = {
    "llama2_7b": 6_738_415_616,
    "llama2_13b": 13_015_864_320,
    "llama2_70b": 68_976_648_192,
    "llama3_8b": 8_030_261_248,
    "llama3_1_70b": 70_553_706_496,
    "codellama_34b": 33_743_970_304,
    "yi_6b": 6_061_035_520,
    "yi_34b": 34_388_917_248,
    "qwen1_5_0_5b": 463_987_712,
    "qwen2_7b": 7_615_616_512,
    "qwen2_72b": 72_706_203_648,
    "qwen_7b": 7_721_324_544,
    "qwen_14b": 14_167_290_880,
    "internlm2_7b": 7_737_708_544,
    "internlm2_20b": 19_861_149_696,
    "baichuan2_7b": 7_505_973_248,
    "baichuan2_13b": 13_896_668_160,
}
"""As the model cards or the indices of the published weights count them."""

OF_OTHER_KINDS = {
    "mistral_7b": 7_241_732_096,
    "qwen3_0_6b": 596_049_920,
    "qwen3_1_7b": 1_720_574_976,
    "qwen3_4b": 4_022_468_096,
    "qwen3_8b": 8_190_735_360,
    "qwen3_14b": 14_768_307_200,
    "qwen3_32b": 32_762_123_264,
    "gemma2_2b": 2_614_341_888,
    "gemma2_9b": 9_241_705_984,
    "gemma2_27b": 27_227_128_320,
    "phi3_mini": 3_821_079_552,
    "phi3_medium": 13_960_238_080,
    "glm4_0414_9b": 9_400_279_040,
    "mixtral_8x7b": 46_702_792_704,
    "mixtral_8x22b": 140_620_634_112,
    "qwen1_5_moe_a2_7b": 14_315_784_192,
    "qwen3_30b_a3b": 30_532_122_624,
    "qwen3_235b_a22b": 235_093_634_560,
    "deepseek_v2": 235_741_434_880,
    "deepseek_v2_lite": 15_706_484_224,
    "deepseek_v3": 671_026_419_200,
}
"""As above; of models with heads, norms or experts beyond Llama's, whose shapes test_parameter_shapes.py checks."""


def count(config: Any) -> int:
    """The weights of a model of the Llama kind, by hand."""
    width, key = config.hidden_size, config.num_kv_heads * config.head_dim
    attention = 2 * width * width + 2 * width * key + (width + 2 * key) * config.qkv_has_bias
    layer = attention + 3 * width * config.inner_size + 2 * width
    heads = 1 if config.tie_word_embeddings else 2
    return int(config.num_layers * layer + heads * config.vocab_size * width + width)


@pytest.mark.parametrize("name", PARAMETERS)
def test_sizes_have_as_many_weights_as_published(name: str) -> None:
    assert count(preset(name)) == PARAMETERS[name]


@pytest.mark.parametrize("name", OF_OTHER_KINDS)
def test_sizes_of_other_kinds_have_as_many_weights_as_published(name: str) -> None:
    config = preset(name)
    shapes = parameter_shapes(family_of(config).decoder(config))
    assert sum(map(math.prod, shapes.values())) == OF_OTHER_KINDS[name]


def test_every_family_with_a_network_has_published_sizes() -> None:
    built = {name for name, cls in components("model").items() if not getattr(tag_of(cls), "pending", "")}
    assert built == {kind for kind, _ in PRESETS.values()}


@pytest.mark.parametrize("name", PRESETS)
def test_every_size_fits_together(name: str) -> None:
    config = preset(name, checkpoint_name_or_path=name)
    assert type(config) is components("model")[PRESETS[name][0]]
    assert not list(config.problems())


def test_a_section_takes_what_it_does_not_write_from_the_size_that_it_names(read_section: Read) -> None:
    config, mistakes = read_section("type: LlamaConfig\ncheckpoint_name_or_path: llama3_1_8b\nnum_layers: 2\n")
    assert not mistakes
    assert (config.hidden_size, config.n_kv_heads, config.theta) == (4096, 8, 5e5)
    assert (config.num_layers, config.extend_method, config.scaling_factor.factor) == (2, "LLAMA3", 8.0)
    written, _ = read_section("type: LlamaConfig\ncheckpoint_name_or_path: llama3_1_8b\nextend_method: 'None'\n")
    assert written.extend_method is None
    glm, _ = read_section("type: ChatGLM2Config\ncheckpoint_name_or_path: glm4_9b\n")
    assert isinstance(glm, ChatGLM2Config)
    assert (glm.num_layers, glm.rope_ratio, glm.vocab_size) == (40, 500.0, 151552)


@pytest.mark.parametrize("path", ["/weights/llama.ckpt", "llama2_70b.ckpt", "''", "~", "a/llama2_70b"])
def test_a_path_names_no_size(path: str, read_section: Read) -> None:
    config, mistakes = read_section(f"type: LlamaConfig\ncheckpoint_name_or_path: {path}\n")
    assert not mistakes
    assert config.num_layers == 32


@pytest.mark.parametrize(
    ("section", "mistake"),
    [
        ("type: LlamaConfig\ncheckpoint_name_or_path: lama2_7b\n", "lama2_7b is neither a path nor a published size"),
        ("type: LlamaConfig\ncheckpoint_name_or_path: lama2_7b\n", "did you mean llama2_7b?"),
        ("type: LlamaConfig\ncheckpoint_name_or_path: glm2_6b\n", "glm2_6b is a size of ChatGLM2Config."),
        ("type: QwenConfig\ncheckpoint_name_or_path: qwen2_7b\n", "of LlamaConfig. Allowed: qwen_14b, qwen_7b"),
    ],
)
def test_a_name_that_does_not_fit_is_named(section: str, mistake: str, read_section: Read) -> None:
    mistakes = read_section(section)[1]
    assert len(mistakes) == 1
    assert mistakes[0].startswith("2: checkpoint_name_or_path: ")
    assert mistake in mistakes[0]


def test_programs_are_told_of_the_nearest_size() -> None:
    with pytest.raises(UserError, match=r"did you mean qwen2_7b\?"):
        preset("qwen2-7b")


@pytest.mark.parametrize(("size", "alibi"), [("7", False), ("13", True)])
def test_a_llama_section_of_baichuan_is_what_arch_says(size: str, alibi: bool, tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    section = f"arch: {{type: Baichuan{size}BV2ForCausalLM}}\n  model_config:\n    type: LlamaConfig\n"
    run.write_text(f"model:\n  {section}    checkpoint_name_or_path: baichuan2_{size}b\n", encoding="utf-8")
    config = mf_config.decode(mf_config.load(run)).model.model_config
    assert isinstance(config, Baichuan2Config)
    assert config == preset(f"baichuan2_{size}b", checkpoint_name_or_path=f"baichuan2_{size}b")
    assert config.alibi is alibi
    run.write_text(run.read_text().replace(f"Baichuan{size}BV2ForCausalLM", "LlamaForCausalLM"))
    assert type(mf_config.decode(mf_config.load(run)).model.model_config) is LlamaConfig


def test_a_section_that_means_another_family_is_checked_as_that(tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    section = "model_config: {type: LlamaConfig, hidden_size: 64, num_heads: 4, n_kv_heads: 2}"
    run.write_text(f"model:\n  arch: {{type: Baichuan7BV2ForCausalLM}}\n  {section}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r":3: model\.model_config\.n_kv_heads: 2 differs from num_heads 4"):
        mf_config.decode(mf_config.load(run))


@pytest.mark.parametrize("name", PRESETS)
def test_a_size_is_the_same_network_after_it_was_a_config_json(name: str) -> None:
    config = preset(name)
    again = config_from_hf(json.loads(json.dumps(config.to_hf())), "config.json")
    assert type(again) is type(config)
    assert family_of(again).decoder(again) == family_of(config).decoder(config)

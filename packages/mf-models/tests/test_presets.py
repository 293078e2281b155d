"""Published sizes by name, in run files and in programs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mf_config
from mf_config.components import components
from mf_config.problems import UserError
from mf_models.families.baichuan2 import Baichuan2Config
from mf_models.families.chatglm2 import ChatGLM2Config
from mf_models.families.llama import LlamaConfig
from mf_models.presets import PRESETS, preset

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

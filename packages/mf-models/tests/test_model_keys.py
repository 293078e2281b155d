"""Keys that several families share, read in the section of a Llama."""

from collections.abc import Callable
from typing import Any

import pytest

from mf_config.schema import declarations
from mf_models.config_keys.again import again
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.families.internlm import InternLMConfig
from mf_models.families.llama import LlamaConfig

Read = Callable[..., tuple[Any, list[str]]]
Llama = Callable[[str], tuple[Any, list[str]]]


@pytest.fixture
def read_llama(read_section: Read) -> Llama:
    return lambda keys: read_section(f"type: LlamaConfig\n{keys}")


def test_defaults_are_those_of_mindformers() -> None:
    config = LlamaConfig()
    assert (config.compute_dtype, config.param_init_type) == ("float16", "float16")
    assert (config.layernorm_compute_type, config.rotary_dtype) == ("float32", "float32")
    assert (config.max_decode_length, config.top_k, config.top_p, config.do_sample) == (1024, 5, 1.0, True)
    assert (config.block_size, config.num_blocks, config.batch_size, config.multiple_of) == (16, 512, 1, 256)


@pytest.mark.parametrize("unset", ["null", "~", "None", "'None'", "''", ""])
def test_a_token_written_null_is_none(unset: str, read_llama: Llama) -> None:
    keys = "".join(f"{name}: {unset}\n" for name in ("bos_token_id", "eos_token_id", "pad_token_id", "rope_scaling"))
    config, mistakes = read_llama(f"{keys}extend_method: {unset}\npre_seq_len: {unset}\n")
    assert not mistakes
    assert (config.bos_token_id, config.eos_token_id, config.pad_token_id) == (None, None, None)
    assert (config.rope_scaling, config.extend_method, config.pre_seq_len) == (None, None, None)
    assert config.eos_token_ids == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("[-1, 1, 1, -1]", (-1, 1, 1, -1)),
        ("[[0, 1], [1, 0]]", ((0, 1), (1, 0))),
    ],
)
def test_offset_is_a_number_a_list_or_a_list_of_lists(text: str, expected: object, read_llama: Llama) -> None:
    config, mistakes = read_llama(f"offset: {text}\n")
    assert not mistakes and config.offset == expected


@pytest.mark.parametrize("name", ["compute_dtype", "param_init_type"])
def test_float_types_are_taken_and_nothing_else(name: str, read_llama: Llama) -> None:
    for value in ("float16", "bfloat16", "float32"):
        assert getattr(read_llama(f"{name}: '{value}'\n")[0], name) == value
    assert (
        f"2: {name}: bf16 is not allowed. Allowed: float16, bfloat16, float32." in read_llama(f"{name}: bf16\n")[1][0]
    )


LLAMA3 = "{factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings: 8192}"


def test_a_scaling_section_is_read(read_llama: Llama) -> None:
    config, mistakes = read_llama(f"extend_method: LLAMA3\nscaling_factor: {LLAMA3}\n")
    assert not mistakes
    scaling = config.scaling_factor
    assert (scaling.factor, scaling.low_freq_factor, scaling.high_freq_factor) == (8.0, 1.0, 4.0)
    assert scaling.original_max_position_embeddings == 8192


@pytest.mark.parametrize("text", ["extend_method: 'None'\nscaling_factor: 4\n", f"scaling_factor: {LLAMA3}\n"])
def test_a_scaling_factor_is_not_looked_at_without_a_method(text: str, read_llama: Llama) -> None:
    assert not read_llama(text)[1]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            "extend_method: SPIRAL\n",
            "2: extend_method: SPIRAL is not allowed. Allowed: PI, NTK, DYNAMIC_NTK, LLAMA3, YARN, LONGROPE",
        ),
        ("extend_method: YARN\nscaling_factor: 4\n", "scaling_factor: 4 is a number, and extend_method YARN needs"),
        (f"extend_method: PI\nscaling_factor: {LLAMA3}\n", "3: scaling_factor: is a section, and extend_method PI"),
        ("extend_method: PI\nscaling_factor: 0\n", "3: scaling_factor: 0 is out of range"),
        (
            f"extend_method: LLAMA3\nscaling_factor: {LLAMA3.replace('low_freq_factor: 1.0, ', '')}\n",
            "scaling_factor.low_freq_factor: is missing, and extend_method LLAMA3 needs it",
        ),
        (
            f"extend_method: LLAMA3\nscaling_factor: {LLAMA3.replace('w_freq_factor: 1', 'w_freq_factor: 4')}\n",
            "low_freq_factor: 4.0 is not below high_freq_factor 4.0",
        ),
        (
            f"extend_method: LLAMA3\nscaling_factor: {LLAMA3[:-1]}, mscale: 1.0}}\n",
            "scaling_factor.mscale: is not read by extend_method LLAMA3",
        ),
        ("extend_method: LLAMA3\nscaling_factor: {faktor: 8}\n", "3: scaling_factor.faktor: unknown key."),
    ],
)
def test_scaling_that_does_not_fit_its_method_is_named(text: str, mistake: str, read_llama: Llama) -> None:
    mistakes = read_llama(text)[1]
    assert len(mistakes) == 1
    assert mistake in mistakes[0]


RTN = """quantization_config:
  quant_method: 'rtn'
  weight_dtype: 'int8'
  activation_dtype: None
  kvcache_dtype: None
  outliers_suppression: "None"
  modules_to_not_convert: ['lm_head']
  algorithm_args: {}
"""


def test_quantised_weights_are_described(read_llama: Llama) -> None:
    config, mistakes = read_llama(RTN)
    assert not mistakes
    section = config.quantization_config
    assert (section.quant_method, section.weight_dtype, section.modules_to_not_convert) == ("rtn", "int8", ("lm_head",))
    assert (section.activation_dtype, section.outliers_suppression, section.algorithm_args) == (None, None, {})


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("'rtn'", "awq", "quant_method: awq is not allowed. Allowed: rtn, ptq, smooth_quant"),
        (
            "activation_dtype: None",
            "activation_dtype: int8",
            "activation_dtype: int8 does not go with quant_method rtn",
        ),
        ('"None"', "smooth", "outliers_suppression: smooth does not go with quant_method rtn"),
        ("'int8'", "int4", "weight_dtype: int4 is not allowed. Allowed: int8"),
    ],
)
def test_quantisation_that_does_not_exist_is_named(old: str, new: str, mistake: str, read_llama: Llama) -> None:
    mistakes = read_llama(RTN.replace(old, new, 1))[1]
    assert len(mistakes) == 1
    assert mistake in mistakes[0]


def test_keys_that_only_the_files_know_have_no_effect() -> None:
    declared = declarations(LlamaConfig)
    assert all(declared[name].key.inert for name in ("rotary_emb_base", "auto_map"))
    assert all(declared[name].key.deprecated for name in ("use_past_shard", "compute_in_2d", "pretrain_seqlen"))


def test_a_repeated_key_differs_in_its_default_only() -> None:
    shared, own = (declarations(cls)["vocab_size"] for cls in (LlamaConfig, InternLMConfig))
    assert (shared.key, shared.default, own.default) == (own.key, 32000, 103168)
    with pytest.raises(KeyError):
        again(DecoderKeys, "vocabulary", 1)


def test_a_section_has_a_slot_for_each_key_and_nothing_else() -> None:
    assert not hasattr(LlamaConfig(), "__dict__")

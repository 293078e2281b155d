"""Sections of parameter-efficient training, as real run files have them."""

from collections.abc import Callable
from typing import Any

import pytest

from mf_config.components import components
from mf_config.schema import tag_of
from mf_models.pet.lora import LoraConfig
from mf_models.pet.prefixtuning import PrefixTuningConfig
from mf_models.pet.ptuning2 import Ptuning2Config
from mf_models.pet.slora import SLoraConfig

Read = Callable[..., tuple[Any, list[str]]]

LORA = "pet_type: lora\nlora_rank: 64\nlora_alpha: 128\nlora_dropout: 0.1\ntarget_modules: '.*wq|.*wv'\n"

SECTIONS = {
    f"{LORA}freeze_exclude: ['*wte*', '*lm_head*']\n": LoraConfig(
        lora_rank=64,
        lora_alpha=128.0,
        lora_dropout=0.1,
        target_modules=".*wq|.*wv",
        freeze_exclude=("*wte*", "*lm_head*"),
    ),
    "pet_type: ptuning2\npre_seq_len: 16\nprefix_projection: True\nprojection_dim: 64\ndropout_prob: 0.02\n": (
        Ptuning2Config(pre_seq_len=16, prefix_projection=True, projection_dim=64, dropout_prob=0.02)
    ),
    "pet_type: prefixtuning\nprefix_token_num: 64\nmid_dim: 256\ndropout_rate: 0.2\n": (
        PrefixTuningConfig(prefix_token_num=64, mid_dim=256, dropout_rate=0.2)
    ),
    "pet_type: slora\nadapter_path: ''\n": SLoraConfig(adapter_path=None),
}


@pytest.mark.parametrize(("text", "expected"), SECTIONS.items(), ids=["lora", "ptuning2", "prefixtuning", "slora"])
def test_a_section_as_real_files_have_it(text: str, expected: object, read_section: Read) -> None:
    assert read_section(text, "pet", "pet_type") == (expected, [])


def test_defaults_are_those_of_mindformers() -> None:
    lora, prompts, prefix, many = LoraConfig(target_modules=""), Ptuning2Config(), PrefixTuningConfig(), SLoraConfig()
    assert (lora.lora_rank, lora.lora_alpha, lora.lora_dropout, lora.param_init_type) == (8, 16, 0.01, "float16")
    assert (prompts.pre_seq_len, prompts.prefix_projection, prompts.projection_dim) == (128, False, 128)
    assert (prefix.prefix_token_num, prefix.mid_dim, prefix.dropout_rate) == (128, 512, 0.1)
    assert (many.lora_num, many.lora_rank, many.lora_alpha, many.lora_dtype) == (1, 8, 8, "float16")


def test_a_model_takes_a_method_or_none(read_section: Read) -> None:
    section = "".join(f"  {line}\n" for line in LORA.splitlines())
    config, mistakes = read_section(f"type: LlamaConfig\npet_config:\n{section}")
    assert not mistakes and config.pet_config.target_modules == ".*wq|.*wv"
    assert read_section("type: LlamaConfig\npet_config:\n")[0].pet_config is None


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("pet_type: lora", "pet_type: adapter", "1: pet_type: no pet is named adapter. Allowed: lora, prefixtuning"),
        ("target_modules: '.*wq|.*wv'", "", "1: target_modules: is missing"),
        ("'.*wq|.*wv'", "'*wq'", "5: target_modules: '*wq' is not a regular expression"),
        ("lora_dropout: 0.1", "lora_dropout: 1.0", "4: lora_dropout: 1 leaves nothing to train"),
        ("lora_rank: 64", "lora_rank: 0", "2: lora_rank: 0 is out of range"),
        ("lora_rank: 64", "rank: 64", "2: rank: unknown key"),
        ("lora_rank: 64", "rank_pattern: {wq(: 4}", "2: rank_pattern: 'wq(' is not a regular expression"),
        ("lora_rank: 64", "rank_pattern: {wq: 0}", "2: rank_pattern: 0 for 'wq' is out of range"),
    ],
)
def test_what_can_not_be_used_is_named(old: str, new: str, mistake: str, read_section: Read) -> None:
    mistakes = read_section(LORA.replace(old, new, 1), "pet", "pet_type")[1]
    assert len(mistakes) == 1
    assert mistake in mistakes[0]


@pytest.mark.parametrize(("kind", "rate"), [("ptuning2", "dropout_prob"), ("prefixtuning", "dropout_rate")])
def test_a_prefix_that_is_dropped_always_is_refused(kind: str, rate: str, read_section: Read) -> None:
    (mistake,) = read_section(f"pet_type: {kind}\n{rate}: 1.0\n", "pet", "pet_type")[1]
    assert mistake == f"2: {rate}: 1 leaves nothing to train. Allowed: from 0, below 1."


def test_answers_by_many_adapters_are_checked_only() -> None:
    pending = {name for name, cls in components("pet").items() if (tag := tag_of(cls)) and tag.pending}
    assert pending == {"slora"}

"""Weights in and out of a cell, and what a checkpoint may not be."""

import json
import shutil
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import mf_models
from mf_ckpt import ArraySource
from mf_ckpt.store.file_plan import one_file
from mf_config.problems import UserError
from mf_models.families.gpt2 import GPT2Config
from mf_models.families.llama import LlamaConfig
from mf_models.families.whisper import WhisperConfig
from mf_models.networks import build, parameters
from mf_models.pet.slora import SLoraConfig
from mf_models.weights import to_checkpoint_names, warn_of_widening
from mf_parallel.rules import Role

Tensors = dict[str, np.ndarray]
UP = "model.layers.0.mlp.up_proj.weight"
KEY = "model.layers.1.self_attn.k_proj.weight"


@pytest.fixture
def tied(data: Path) -> Tensors:
    return load_file(data / "llama_tied" / "model.safetensors")


@pytest.fixture
def save(data: Path, tmp_path: Path) -> Any:
    """Writes a model directory from tensors and changes of the configuration."""

    def write(tensors: Tensors, **changes: Any) -> Path:
        config = json.loads((data / "llama_tied" / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps(config | changes))
        save_file(
            {name: np.ascontiguousarray(array) for name, array in tensors.items()}, tmp_path / "model.safetensors"
        )
        return tmp_path

    return write


def values(path: Path) -> Tensors:
    config, cell = mf_models.load(path)
    return dict(to_checkpoint_names(config, cell))


def assert_equal(found: Tensors, expected: Tensors) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_all_shards_go_in_and_out_unchanged(data: Path) -> None:
    stored: Tensors = {}
    for file in (data / "llama_gqa").glob("*.safetensors"):
        stored |= load_file(file)
    assert_equal(values(data / "llama_gqa"), stored)


def test_a_tied_head_may_be_absent_or_an_equal_copy(save: Any, tied: Tensors) -> None:
    assert_equal(values(save(tied)), tied)
    copy = {"lm_head.weight": tied["model.embed_tokens.weight"]}
    assert_equal(values(save(tied | copy)), tied)


def test_a_tied_head_that_differs_is_refused(save: Any, tied: Tensors) -> None:
    other = {"lm_head.weight": tied["model.embed_tokens.weight"] + 1}
    with pytest.raises(UserError, match=r"unequal: lm_head.weight, tied to model.embed_tokens.weight"):
        mf_models.load(save(tied | other))


def test_an_absent_head_is_refused_where_the_config_unties_it(save: Any, tied: Tensors) -> None:
    with pytest.raises(UserError, match=r"missing: lm_head.weight"):
        mf_models.load(save(tied, tie_word_embeddings=False))


def test_half_precision_is_widened_exactly(save: Any, tied: Tensors) -> None:
    half = {name: array.astype(np.float16) for name, array in tied.items()}
    assert_equal(values(save(half)), {name: array.astype(np.float32) for name, array in half.items()})


def test_widening_is_told_once_a_process(save: Any, tied: Tensors, caplog: pytest.LogCaptureFixture) -> None:
    warn_of_widening.cache_clear()
    folder = save(tied)
    mf_models.load(folder)
    assert not caplog.messages
    halves = ArraySource(tied, dict.fromkeys(tied, "BF16"))
    (folder / "model.safetensors").write_bytes(b"".join(one_file("model.safetensors", halves, {"format": "pt"})))
    mf_models.load(folder)
    mf_models.load(folder)
    assert caplog.messages == ["weights stored as bfloat16 are widened, as all is float32 on CPU"]


def test_old_rotary_buffers_are_ignored(save: Any, tied: Tensors) -> None:
    buffer = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(6, np.float32)}
    assert_equal(values(save(tied | buffer)), tied)


def test_everything_that_does_not_fit_is_named_at_once(save: Any, tied: Tensors) -> None:
    wrong = {name: array for name, array in tied.items() if name != KEY}
    wrong |= {
        UP: tied[UP].T,
        "model.norm.weight": np.ones(48, np.int8),
        "model.layers.1.scales": np.ones(2, np.float32),
    }
    with pytest.raises(UserError) as caught:
        mf_models.load(save(wrong))
    first, *lines = str(caught.value).splitlines()
    assert first.endswith(
        "tensors don't fit the model: 1 missing, 1 of another shape, 1 of another type, 1 unexpected."
    )
    assert lines == [
        f"  missing: {KEY}",
        f"  of another shape: {UP}, [48, 96]. Allowed: [96, 48].",
        "  of another type: model.norm.weight, stored as I8",
        "  unexpected: model.layers.1.scales",
    ]


def test_a_model_of_another_size_gives_a_short_message(save: Any, tied: Tensors) -> None:
    path = save(tied, hidden_size=64, head_dim=16)
    with pytest.raises(UserError) as caught:
        mf_models.load(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{path}: tensors don't fit the model: 20 of another shape; 16 more are not shown."
    assert lines[1] == "  of another shape: model.embed_tokens.weight, [160, 48]. Allowed: [160, 64]."
    assert len(lines) == 5


def test_a_directory_without_config_is_refused(data: Path, tmp_path: Path) -> None:
    shutil.copy(data / "llama_tied" / "model.safetensors", tmp_path)
    with pytest.raises(UserError, match=r"has no config.json"):
        mf_models.load(tmp_path)


@pytest.mark.parametrize("tie", [False, True])
def test_every_weight_has_one_name_and_one_rule(tie: bool) -> None:
    config = LlamaConfig(
        hidden_size=24,
        num_layers=2,
        num_heads=6,
        n_kv_heads=2,
        intermediate_size=8,
        vocab_size=32,
        tie_word_embeddings=tie,
    )
    names = list(parameters(build(config)))
    family = mf_models.family_of(config)
    key_map = family.key_map(config)
    assert [key_map.backward(key_map.forward(name)) for name in names] == names
    rules = family.sharding(config).match_all(names)
    assert len(set(rules.values())) == len(family.sharding(config).rules)
    query, output = (rules[f"model.layers.1.attention.{part}.weight"] for part in ("wq", "wo"))
    assert (query.role, query.placements[0].unit) == (Role.COLUMN, 12)
    assert (output.role, output.placements[0].dim, output.placements[0].unit) == (Role.ROW, 1, 12)


def test_weights_are_stored_in_float32_whatever_a_run_file_asks_for() -> None:
    config = LlamaConfig(hidden_size=8, num_layers=1, num_heads=2, vocab_size=16, param_init_type="bfloat16")
    assert {parameter.dtype for parameter in parameters(build(config)).values()} == {ms.float32}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LlamaConfig(pre_seq_len=3), r"LlamaConfig: pre_seq_len: 3 can't be run yet: prefixes .*Allowed: None\."),
        (GPT2Config(post_layernorm_residual=True), r"GPT2Config: post_layernorm_residual: True can't be run yet"),
        (LlamaConfig(extend_method="YARN"), r"LlamaConfig: scaling_factor: 1 is a number, and extend_method YARN"),
        (LlamaConfig(pet_config=SLoraConfig()), r"pet_config: slora can't be run yet: answers by many adapters"),
        (WhisperConfig(), r"WhisperConfig: can't be run yet: its network is not built yet\."),
    ],
)
def test_what_is_not_built_is_refused_when_the_cell_is_made(config: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        build(config)


def test_keys_of_generation_do_not_concern_the_network() -> None:
    build(LlamaConfig(hidden_size=8, num_layers=1, num_heads=2, vocab_size=16, max_new_tokens=5))

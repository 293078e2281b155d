"""LoRA beside a network's layers, against the numbers and files of Hugging Face PEFT."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

import mf_ckpt
import mf_models
from mf_ckpt import lora
from mf_config import UserError
from mf_models.adaptation import trained_share
from mf_models.families.llama import LlamaConfig
from mf_models.initializers import initialize
from mf_models.networks import build, parameters
from mf_models.pet.lora import LoraConfig
from mf_models.pretrained import open_base, open_weights
from mf_models.weights import assign

LOGITS_ATOL = 2e-4
"""Tolerance that comes with the golden numbers."""

ADAPTERS = {
    "llama_gqa_lora": LoraConfig(target_modules=".*wq|.*wv|.*wo|.*w2", lora_rank=4, lora_alpha=10, lora_dropout=0),
    "llama_gqa_lora_rslora": LoraConfig(
        target_modules=("q_proj", "k_proj", "gate_proj"),
        lora_rank=4,
        lora_alpha=6,
        lora_dropout=0,
        use_rslora=True,
        rank_pattern={"k_proj": 2},
        alpha_pattern={"gate_proj": 3},
    ),
}
"""The settings that PEFT made the golden adapters with, once by the names of the cells and once by Hugging Face's."""

LLAMA = LlamaConfig(
    hidden_size=16, num_layers=2, num_heads=2, n_kv_heads=1, intermediate_size=24, vocab_size=40, seq_length=8
)
EVERYTHING = LoraConfig(target_modules=".*w.*", lora_rank=3, lora_alpha=6, lora_dropout=0)


def logits_of(cell: Any, golden: Mapping[str, np.ndarray]) -> np.ndarray:
    found: np.ndarray = cell(Tensor(golden["input_ids"].astype(np.int32))).asnumpy()
    return found


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def greedy_tokens(cell: Any, prompts: list[np.ndarray], expected: list[np.ndarray]) -> list[np.ndarray]:
    """What the network takes after each prompt, and after it with one, two, … of the expected tokens.

    Where all of them are right, they are what it generates.
    """
    texts = [np.concatenate([prompt, tokens[:-1]]) for prompt, tokens in zip(prompts, expected, strict=True)]
    longest = max(map(len, texts))
    ids = np.stack([np.pad(text, (0, longest - len(text))) for text in texts])
    found = cell(Tensor(ids.astype(np.int32))).asnumpy().argmax(-1)
    return [row[len(prompt) - 1 : len(text)] for row, prompt, text in zip(found, prompts, texts, strict=True)]


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_adapter_of_peft_gives_its_greedy_tokens(name: str, data: Path) -> None:
    golden, base = np.load(data / name / "golden.npz"), np.load(data / "llama_gqa" / "golden.npz")
    config, cell = mf_models.load(data / "llama_gqa")
    ADAPTERS[name].adapt(cell, config, seed=0).load(data / name)
    prompts, expected = [base["prompt0"], base["prompt1"]], [golden["greedy0"], golden["greedy1"]]
    np.testing.assert_array_equal(greedy_tokens(cell, prompts, expected), expected)
    assert not np.array_equal(expected[0], base["greedy0"])


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_adapter_of_peft_gives_its_logits_and_comes_out_as_it_went_in(
    name: str, data: Path, tmp_path: Path
) -> None:
    golden = np.load(data / name / "golden.npz")
    config, cell = mf_models.load(data / "llama_gqa")
    adaptation = ADAPTERS[name].adapt(cell, config, seed=0)
    np.testing.assert_allclose(logits_of(cell, golden), golden["logits_base"], 0, LOGITS_ATOL)
    adaptation.load(data / name)
    logits = logits_of(cell, golden)
    np.testing.assert_allclose(logits, golden["logits_adapter"], 0, LOGITS_ATOL)
    np.testing.assert_allclose(logits, golden["logits_merged"], 0, LOGITS_ATOL)
    written = write(tmp_path / "adapter", adaptation.files("the/base"))
    original = lora.open_adapter(data / name)
    assert lora.open_adapter(written).fingerprint() == original.fingerprint()
    tensors = "adapter_model.safetensors"
    assert (written / tensors).read_bytes() == (data / name / tensors).read_bytes()
    settings, given = (json.loads((folder / "adapter_config.json").read_text()) for folder in (written, data / name))
    kept = ("peft_type", "task_type", "r", "lora_alpha", "target_modules", "use_rslora", "bias", "fan_in_fan_out")
    assert {key: settings[key] for key in kept} == {key: given[key] for key in kept}
    assert settings["base_model_name_or_path"] == "the/base"


def test_scales_are_those_of_the_case(data: Path) -> None:
    config, cell = mf_models.load(data / "llama_gqa")
    adaptation: Any = ADAPTERS["llama_gqa_lora_rslora"].adapt(cell, config, seed=0)
    scales = {target.module.rpartition(".")[2]: round(target.scale, 6) for target, _ in adaptation.targets}
    assert scales == {"q_proj": 3.0, "k_proj": 4.242641, "gate_proj": 1.5}


FUSED = {
    "phi3": ("qkv_proj|.*w3", {"self_attn.qkv_proj": 3, "mlp.gate_up_proj": 1}),
    "glm": ("query_key_value|dense_4h_to_h", {"self_attn.q_proj": 1, "self_attn.k_proj": 1, "self_attn.v_proj": 1}),
    "gpt2": (".*dense1.*|.*dense3.*|.*projection", {"attn.c_attn": 2, "attn.c_proj": 1, "mlp.c_proj": 1}),
}
"""Family to target_modules, in names of Hugging Face, MindFormers and the cells, and to layers of stored matrices."""


@pytest.mark.parametrize("name", FUSED)
def test_merged_equals_unmerged_where_matrices_are_stored_joined_or_turned(
    name: str, data: Path, tmp_path: Path
) -> None:
    pattern, expected = FUSED[name]
    golden = np.load(data / name / "golden.npz")
    config, cell = mf_models.load(data / name)
    adaptation: Any = replace(EVERYTHING, target_modules=pattern).adapt(cell, config, seed=1)
    found = {
        target.module.split(".0.")[1]: len(target.layers) for target, _ in adaptation.targets if ".0." in target.module
    }
    assert expected.items() <= found.items()
    drawn = np.random.default_rng(0)
    seconds = [b for _, own in adaptation.targets for b in own.b.values()]
    for b in seconds:
        b.set_data(Tensor(drawn.normal(0, 0.05, b.shape).astype(np.float32)))
    unmerged = logits_of(cell, golden)
    folder = write(shutil.copytree(data / name, tmp_path / "model"), adaptation.files("."))
    adaptation.load(folder)
    np.testing.assert_array_equal(logits_of(cell, golden), unmerged)
    assign(config, cell, open_weights(folder, config), "merged")
    for b in seconds:
        b.set_data(Tensor(np.zeros(b.shape, np.float32)))
    merged = logits_of(cell, golden)
    np.testing.assert_allclose(merged, unmerged, 0, 1e-5 * np.abs(unmerged).max())
    assert np.abs(merged - golden["logits"]).max() > 0.01


def test_only_the_new_matrices_are_trained_and_told() -> None:
    cell = build(LLAMA)
    EVERYTHING.adapt(cell, LLAMA, seed=0)
    trained = [parameter.name for parameter in cell.trainable_params()]
    assert len(trained) == 2 * 7 * 2
    assert all(name.endswith((".adapter.a", ".adapter.b")) for name in trained)
    assert "model.layers.1.feed_forward.w2.adapter.b" in trained
    lines = trained_share(list(cell.get_parameters())).splitlines()
    # By hand: 3 rows or columns beside each side of wq and wo 16x16, wk and wv 8x16, w1 and w3 24x16, w2 16x24.
    count = 2 * 3 * (2 * 32 + 2 * 24 + 3 * 40)
    total = count + 2 * 40 * 16 + 16 + 2 * (2 * 256 + 2 * 128 + 3 * 384 + 2 * 16)
    assert lines[0] == f"{count:,} of {total:,} parameters are trained ({count / total:.2%}):"
    assert "  model.layers.*.attention.wk.adapter.b     2 x [8, 3]" in lines


def test_new_matrices_depend_on_seed_and_name_and_change_nothing_at_first() -> None:
    found = {}
    for seed, pattern in ((3, ".*wq|.*wk"), (3, ".*wq"), (4, ".*wq")):
        cell = build(LLAMA)
        adaptation: Any = replace(EVERYTHING, target_modules=pattern).adapt(cell, LLAMA, seed)
        found[seed, pattern] = adaptation.targets[0][1].a.asnumpy()
        assert not any(b.asnumpy().any() for _, own in adaptation.targets for b in own.b.values())
    first = found[3, ".*wq"]
    np.testing.assert_array_equal(first, found[3, ".*wq|.*wk"])
    assert not np.isin(first, found[4, ".*wq"]).any()
    # Uniform to 1 / sqrt(16): variance a third of 1 / 16.
    assert np.abs(first).max() <= 0.25 and first.var() == pytest.approx(1 / 48, rel=0.4)


def test_patterns_free_and_freeze_further_weights(tmp_path: Path) -> None:
    section = replace(
        EVERYTHING,
        target_modules=".*wq",
        freeze_exclude=("*norm_out*", "lm_head*", "*layers.0.attention.wk*"),
        freeze_include=("*layers.1.*.adapter.*", "*layers.0.attention.wk*"),
    )
    cell = build(LLAMA)
    initialize(cell, 0)
    adaptation = section.adapt(cell, LLAMA, seed=0)
    trained = {parameter.name for parameter in cell.trainable_params()}
    wq = "model.layers.0.attention.wq.adapter"
    assert trained == {"model.norm_out.weight", "lm_head.weight", f"{wq}.a", f"{wq}.b"}
    folder = write(tmp_path, adaptation.files("base"))
    adapter = lora.open_adapter(folder)
    assert set(adapter.replaced) == {"model.norm.weight", "lm_head.weight"}
    assert json.loads((folder / "adapter_config.json").read_text())["modules_to_save"] == ["lm_head", "model.norm"]
    held = parameters(cell)
    before = held["lm_head.weight"].asnumpy().copy()
    held["lm_head.weight"].set_data(Tensor(np.zeros_like(before)))
    adaptation.load(folder)
    np.testing.assert_array_equal(held["lm_head.weight"].asnumpy(), before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target_modules": "dense"}, r"target_modules: 'dense' names no layer .*Allowed: names such as wq, wk, wv"),
        ({"target_modules": ("lm_head",)}, r"names no layer that can be trained so"),
        ({"exclude_layers": ".*w.*"}, r"names no layer that can be trained so"),
    ],
)
def test_what_names_no_layer_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(EVERYTHING, **changes).adapt(build(LLAMA), LLAMA, seed=0)


def test_an_embedding_that_is_the_head_too_is_not_trained() -> None:
    tied = replace(LLAMA, tie_word_embeddings=True)
    with pytest.raises(UserError, match=r"freeze_exclude: an adapter can't hold an embedding that is the head"):
        replace(EVERYTHING, freeze_exclude=("*tok_embeddings*",)).adapt(build(tied), tied, seed=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lora_rank": 2}, r"layers.0.self_attn.q_proj has rank 4 and shape \[48, 48\] there, 2 and \[48, 48\] here"),
        ({"lora_alpha": 4}, r"q_proj has scale 2.5 there, 1 here"),
        ({"target_modules": ".*wq|.*wv|.*wo|.*w1|.*w2"}, r"layers.0.mlp.gate_proj has no LoRA in it"),
        ({"target_modules": ".*wq"}, r"layers.0.self_attn.v_proj.weight is changed by it"),
    ],
)
def test_an_adapter_that_does_not_fit_is_refused(changes: dict[str, Any], message: str, data: Path) -> None:
    config, cell = mf_models.load(data / "llama_gqa")
    adaptation = replace(ADAPTERS["llama_gqa_lora"], **changes).adapt(cell, config, seed=0)
    with pytest.raises(UserError, match=message):
        adaptation.load(data / "llama_gqa_lora")


def test_a_checkpoint_of_an_adapter_refers_to_its_base(data: Path, tmp_path: Path) -> None:
    base = shutil.copytree(data / "llama_gqa", tmp_path / "base")
    config, cell = mf_models.load(base)
    adaptation = ADAPTERS["llama_gqa_lora"].adapt(cell, config, seed=0)
    adaptation.load(data / "llama_gqa_lora")
    folder = tmp_path / "run" / "checkpoint" / "step-00000001"
    with mf_ckpt.Writer(folder, step=1) as writer:
        writer.add_json("config.json", config.to_hf())
        for name, content in adaptation.files(str(base)).items():
            writer.add_file(name, content)
    assert mf_ckpt.verify(folder) == []
    plain, merged = open_base(folder, config), open_weights(folder, config)
    expected = mf_ckpt.open(base)
    assert mf_ckpt.open(folder).base == base
    assert all(np.array_equal(plain[name], expected[name]) for name in expected)
    target = "model.layers.0.self_attn.q_proj.weight"
    tensors = mf_ckpt.open(data / "llama_gqa_lora" / "adapter_model.safetensors")
    module = "base_model.model.model.layers.0.self_attn.q_proj"
    a, b = (tensors[f"{module}.lora_{side}.weight"].astype(np.float64) for side in "AB")
    np.testing.assert_allclose(
        merged[target].astype(np.float64), expected[target].astype(np.float64) + 2.5 * b @ a, 0, 1e-6
    )
    assert np.abs(merged[target].astype(np.float64) - plain[target].astype(np.float64)).max() > 1e-3
    shutil.move(base, tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"an adapter without its base: adapter_config.json says that it lies at"):
        mf_ckpt.open(folder)
    shutil.move(tmp_path / "elsewhere", tmp_path / "run" / "base")
    assert mf_ckpt.open(folder).base.name == "base"

"""The hyperparameters of a GGUF file, and a model loaded from one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from mindspore import Tensor

import mf_ckpt
import mf_models
from mf_ckpt import MappedSource
from mf_ckpt.cli import main as ckpt
from mf_config import UserError
from mf_models.families.qwen import QwenConfig
from mf_models.gguf_config import hf_from_gguf
from mf_models.pretrained import read_config
from mf_models.registry import config_from_hf

METADATA = {
    "general.architecture": "llama",
    "llama.context_length": 128,
    "llama.embedding_length": 48,
    "llama.block_count": 2,
    "llama.feed_forward_length": 96,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.dimension_count": 12,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
}
TENSORS = {"token_embd.weight": (160, 48), "output.weight": (160, 48)}


@pytest.fixture
def file(data: Path, tmp_path: Path) -> Path:
    """A golden model as a GGUF file."""
    source, config = mf_ckpt.open(data / "llama_gqa"), read_config(data / "llama_gqa")
    stored = MappedSource(source, mf_models.family_of(config).forms(config)["gguf"])
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    for name, value in METADATA.items():
        if isinstance(value, int):
            writer.add_uint32(name, value)
        elif isinstance(value, float):
            writer.add_float32(name, value)
    for name in stored:
        writer.add_tensor(name, stored[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "model.gguf"


def test_a_model_of_one_file(data: Path, file: Path) -> None:
    found, model = mf_models.load(file)
    assert (found.vocab_size, found.tie_word_embeddings, found.pad_token_id) == (160, False, None)
    golden = np.load(data / "llama_gqa" / "golden.npz")
    logits = model(Tensor(golden["input_ids"].astype(np.int32))).asnumpy()
    np.testing.assert_allclose(logits, golden["logits"], 0, 2e-4)


CONVERT = """
import sys
from mf_ckpt.cli import main
status = main(sys.argv[1:])
assert "mindspore" not in sys.modules
sys.exit(status)
"""


def test_a_file_is_converted_without_a_config_and_without_mindspore(data: Path, file: Path, tmp_path: Path) -> None:
    described, config = tmp_path / "given.json", read_config(file)
    described.write_text(json.dumps(config.to_hf()))
    assert ckpt(["convert", str(file), str(tmp_path / "given"), "--to", "hf", "--config", str(described)]) == 0
    command = [sys.executable, "-c", CONVERT, "convert", str(file), str(tmp_path / "found"), "--to", "hf"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert read_config(tmp_path / "found") == config
    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / "found" / name).read_bytes() == (tmp_path / "given" / name).read_bytes()
    source, converted = mf_ckpt.open(data / "llama_gqa"), mf_ckpt.open(tmp_path / "found")
    assert set(converted) == set(source)
    for name in source:
        np.testing.assert_array_equal(converted[name], source[name])


def test_a_file_that_no_family_reads_is_not_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "mamba")
    writer.add_tensor("token_embd.weight", np.zeros((4, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert ckpt(["convert", str(tmp_path / "m.gguf"), str(tmp_path / "hf"), "--to", "hf"]) == 2
    assert "m.gguf: general.architecture: 'mamba' is not read. Allowed: llama" in capsys.readouterr().err


def test_a_tied_head_is_one_that_the_file_lacks() -> None:
    found = hf_from_gguf(METADATA, {"token_embd.weight": (160, 48)}, "m.gguf")
    assert (found["tie_word_embeddings"], found["vocab_size"], found["model_type"]) == (True, 160, "llama")
    assert "rope_theta" not in found


@pytest.mark.parametrize(
    ("changes", "tensors", "message"),
    [
        (
            {"general.architecture": "lama"},
            {},
            r"m.gguf: general.architecture: 'lama' is not read.*Did you mean llama\?",
        ),
        ({"llama.rope.scaling.type": "yarn"}, {}, "m.gguf: rope.scaling.type: 'yarn': scaled positions"),
        ({}, {"rope_freqs.weight": (6,)}, "tensor rope_freqs.weight: scaled positions"),
        ({"llama.expert_count": 8}, {}, "m.gguf: has no llama.expert_used_count"),
        ({"llama.rope.dimension_count": 6}, {}, "rope.dimension_count: 6 of 12 elements"),
    ],
)
def test_what_would_change_numbers_is_refused(changes: dict[str, Any], tensors: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        hf_from_gguf(METADATA | changes, TENSORS | tensors, "m.gguf")


def test_a_missing_size_is_named() -> None:
    metadata = {name: value for name, value in METADATA.items() if name != "llama.block_count"}
    with pytest.raises(UserError, match=r"m.gguf: has no llama.block_count"):
        hf_from_gguf(metadata, TENSORS, "m.gguf")


def test_the_first_generation_of_qwen_has_its_own_names() -> None:
    metadata = {name.replace("llama.", "qwen."): value for name, value in METADATA.items()}
    del metadata["qwen.attention.head_count_kv"]
    found = hf_from_gguf(metadata | {"general.architecture": "qwen", "qwen.rope.freq_base": 5e4}, TENSORS, "m.gguf")
    config: Any = config_from_hf(found, "m.gguf")
    assert isinstance(config, QwenConfig)
    # The file counts the gate and what it is multiplied with together.
    assert (config.inner_size, config.theta, config.rms_norm_eps, config.max_positions) == (48, 5e4, 1e-5, 128)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN, 2)
    renamed = mf_models.family_of(config).forms(config)["gguf"]
    kinds = ("attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "mlp.w1.weight", "mlp.w2.weight")
    for kind in kinds:
        (step,) = renamed.steps([f"transformer.h.1.{kind}"])
        assert step.targets == (names.get_name(f"transformer.h.1.{kind}", (".weight", ".bias")),)


EXPERTS = {
    "mixtral": ("llama", gguf.MODEL_ARCH.LLAMA, {"expert_count": "num_local_experts"}),
    "qwen3_moe": (
        "qwen3moe",
        gguf.MODEL_ARCH.QWEN3MOE,
        {"expert_count": "num_experts", "expert_feed_forward_length": "moe_intermediate_size"},
    ),
}
SIZES = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.freq_base": "rope_theta",
    "expert_used_count": "num_experts_per_tok",
}


@pytest.mark.parametrize("name", EXPERTS)
def test_models_with_experts(name: str, data: Path) -> None:
    architecture, known, own = EXPERTS[name]
    config: Any = read_config(data / name)
    renamed, weights = mf_models.family_of(config).forms(config)["gguf"], mf_ckpt.open(data / name)
    stored = MappedSource(weights, renamed)
    described = config.to_hf()
    metadata = {f"{architecture}.{key}": described[other] for key, other in (SIZES | own).items()}
    shapes = {key: stored.info(key).shape for key in stored}
    read: Any = config_from_hf(
        hf_from_gguf(metadata | {"general.architecture": architecture}, shapes, "m.gguf"), "m.gguf"
    )
    assert type(read) is type(config)
    assert (read.moe_config.expert_num, read.moe_config.num_experts_chosen, read.moe_config.norm_topk_prob) == (
        config.moe_config.expert_num,
        config.moe_config.num_experts_chosen,
        True,
    )
    # llama.cpp's own table has these names, those of the few blocks without experts aside.
    names = gguf.MODEL_TENSORS[known] + gguf.MODEL_TENSORS[gguf.MODEL_ARCH.LLAMA]
    allowed = {gguf.TENSOR_NAMES[kind].format(bid=block) for kind in names for block in range(config.num_layers)}
    assert {key.removesuffix(".weight") for key in stored} <= allowed
    back = MappedSource(stored, renamed.inverse)
    assert set(back) == set(weights)
    for key in weights:
        np.testing.assert_array_equal(back[key], weights[key])

"""Weights of other forms than Hugging Face's own: MindFormers' `.ckpt`, adapters, GGUF's names."""

import json
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor
from safetensors.numpy import save_file

import mf_ckpt
import mf_models
from mf_ckpt.families import family_of
from mf_ckpt.formats.mindspore_ckpt import CkptWriter
from mf_ckpt.keymap.mapped import MappedSource
from mf_config import UserError
from mf_config.layout import Mesh
from mf_models.checkpoint_family import checkpoint_family
from mf_models.families.llama import LlamaConfig
from mf_models.pretrained import open_weights, read_config
from mf_models.registry import config_from_hf

LOGITS_ATOL = 2e-4
"""Tolerance that comes with the golden numbers."""


PUBLISHED_CHATGLM = {
    "model_type": "chatglm",
    "architectures": ["ChatGLMModel"],
    "auto_map": {"AutoModel": "modeling_chatglm.ChatGLMForConditionalGeneration"},
    "add_bias_linear": False,
    "add_qkv_bias": True,
    "apply_query_key_layer_scaling": True,
    "attention_softmax_in_fp32": True,
    "ffn_hidden_size": 96,
    "hidden_dropout": 0.0,
    "hidden_size": 48,
    "kv_channels": 16,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "num_attention_heads": 4,
    "num_layers": 2,
    "original_rope": True,
    "padded_vocab_size": 160,
    "rmsnorm": True,
    "seq_length": 128,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
"""The keys of chatglm3-6b, with the sizes of the golden model of type glm."""


@pytest.fixture
def config(data: Path) -> LlamaConfig:
    config = config_from_hf(json.loads((data / "llama_gqa" / "config.json").read_text()), "config.json")
    assert isinstance(config, LlamaConfig)
    return config


def test_a_ckpt_file_with_the_names_of_mindformers(data: Path, tmp_path: Path, config: LlamaConfig) -> None:
    source = mf_ckpt.open(data / "llama_gqa")
    names = mf_models.family_of(config).forms(config)["mindspore"]
    with CkptWriter(tmp_path / "llama.ckpt") as writer:
        for name in source:
            writer.add(names.forward(name), source[name])
        writer.add("adam_m.model.norm_out.weight", np.zeros(48, np.float32))
        writer.add("global_step", np.int32(7))
    opened = open_weights(tmp_path / "llama.ckpt", config)
    assert set(opened) == set(source)
    assert all(np.array_equal(opened[name], source[name]) for name in source)


def test_the_names_of_gguf_and_back(data: Path, config: LlamaConfig) -> None:
    source = mf_ckpt.open(data / "llama_gqa")
    keys = mf_models.family_of(config).forms(config)["gguf"]
    stored = MappedSource(source, keys)
    # A head of 12 rows in halves, 0 to 5 and 6 to 11, has interleaved pairs (0, 6), (1, 7), … in a GGUF file.
    head = source["model.layers.1.self_attn.k_proj.weight"][12:24]
    assert np.array_equal(stored["blk.1.attn_k.weight"][12:24], head[[0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]])
    again = MappedSource(stored, keys.inverse)
    assert all(np.array_equal(again[name], source[name]) for name in source)


@pytest.mark.parametrize("name", ["llama_gqa_lora", "llama_gqa_lora_rslora"])
def test_an_adapter_beside_the_base_is_merged_in(data: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(data / "llama_gqa", tmp_path / "model")
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(data / name / file, folder)
    golden = np.load(data / name / "golden.npz")
    _, model = mf_models.load(folder)
    logits = model(Tensor(golden["input_ids"].astype(np.int32))).asnumpy()
    np.testing.assert_allclose(logits, golden["logits_adapter"], 0, LOGITS_ATOL)
    np.testing.assert_allclose(logits, golden["logits_merged"], 0, LOGITS_ATOL)


def test_a_checkpoint_cut_over_ranks_is_loaded_whole(data: Path, tmp_path: Path, config: LlamaConfig) -> None:
    source = mf_ckpt.open(data / "llama_gqa")
    family = checkpoint_family(config.to_hf())
    assert family is not None
    layout = mf_ckpt.place(source.weights, source.optimizer, Mesh.of(pp=2, tp=2), family.rules, ties=family.ties)
    mf_ckpt.transform(source, tmp_path / "cut", layout=layout)
    cut = mf_ckpt.open(tmp_path / "cut")
    assert cut.is_sliced
    assert cut.layout is not None
    assert cut.layout.stages["model.embed_tokens.weight"] == 0
    assert {cut.layout.stages[name] for name in ("model.norm.weight", "lm_head.weight")} == {1}
    opened = open_weights(tmp_path / "cut", config)
    assert all(np.array_equal(opened[name], source[name]) for name in source)


def test_the_tools_of_mf_ckpt_find_the_family(config: LlamaConfig) -> None:
    found = family_of(config.to_hf())
    assert found is not None
    assert len(found.rules) == 12
    assert set(found.forms) == {"mindspore", "gguf"}
    assert family_of({"model_type": "another"}) is None


def test_an_adapter_of_another_model_is_refused(data: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(data / "llama_tied", tmp_path / "model")
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(data / "llama_gqa_lora" / file, folder)
    config = config_from_hf(json.loads((folder / "config.json").read_text()), "config.json")
    with pytest.raises(UserError, match="adapter"):
        open_weights(folder, config)


def test_a_published_chatglm_is_the_model_that_transformers_calls_glm(data: Path, tmp_path: Path) -> None:
    present = read_config(data / "glm")
    stored, tensors = mf_ckpt.open(data / "glm"), {}
    for name in stored:
        place = name.replace("model.", "transformer.encoder.", 1).replace("self_attn.o_proj", "self_attention.dense")
        place = place.replace("mlp.gate_up_proj", "mlp.dense_h_to_4h").replace("mlp.down_proj", "mlp.dense_4h_to_h")
        if "_proj" not in place:
            tensors[place] = stored[name]
    for layer, kind in product(range(2), ("weight", "bias")):
        parts = [stored[f"model.layers.{layer}.self_attn.{part}_proj.{kind}"] for part in "qkv"]
        whole = f"transformer.encoder.layers.{layer}.self_attention.query_key_value.{kind}"
        tensors[whole] = np.concatenate(parts)
    tensors["transformer.embedding.word_embeddings.weight"] = tensors.pop("transformer.encoder.embed_tokens.weight")
    tensors["transformer.encoder.final_layernorm.weight"] = tensors.pop("transformer.encoder.norm.weight")
    tensors["transformer.output_layer.weight"] = tensors.pop("lm_head.weight")
    save_file(tensors | {"transformer.rotary_pos_emb.inv_freq": np.ones(4, np.float32)}, tmp_path / "model.safetensors")
    described = PUBLISHED_CHATGLM | {"layernorm_epsilon": 1.5625e-07}
    (tmp_path / "config.json").write_text(json.dumps(described))
    config = read_config(tmp_path)
    assert config == present
    found = open_weights(tmp_path, config)
    assert set(found) == set(stored)
    assert all(np.array_equal(found[name], stored[name]) for name in stored)
    strange = {"transformer.prefix_encoder.embedding.weight": np.ones(4, np.float32)}
    save_file(tensors | strange, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match=r"of type chatglm has no tensors transformer.prefix_encoder"):
        open_weights(tmp_path, config)
    (tmp_path / "config.json").write_text(json.dumps(described | {"rmsnorm": False}))
    with pytest.raises(UserError, match="rmsnorm: False is not supported"):
        read_config(tmp_path)

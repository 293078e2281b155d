"""Types of weights and of computation: on Ascend as the keys say, on CPU float32."""

import shutil
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import nn

from mf_ckpt import ArraySource
from mf_models.families.chatglm2 import ChatGLM2Config
from mf_models.families.llama import LlamaConfig
from mf_models.initializers import initialize
from mf_models.layers.typed import set_number_types
from mf_models.networks import build, parameters
from mf_models.weights import assign, stored_types, to_checkpoint_names
from mf_parallel.simulation import simulate

PROGRAMS = Path(__file__).parent / "programs"
SIZES: dict[str, Any] = {"hidden_size": 8, "num_layers": 1, "num_heads": 2, "vocab_size": 16, "seq_length": 8}

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in for CANN needs a C compiler")


def compiled(data: Path, models: list[str], **keys: Any) -> dict[str, dict[str, Any]]:
    arguments = {"folder": str(data), "models": models, "keys": keys}
    found: dict[str, dict[str, Any]] = simulate("number_types:types_of", arguments, search_path=[PROGRAMS])
    return found


@needs_compiler
def test_each_key_has_its_effect_on_ascend_forward_and_backward(data: Path) -> None:
    keys = {"param_init_type": "float16", "compute_dtype": "bfloat16", "embedding_init_type": "float32"}
    (found,) = compiled(data, ["llama_gqa"], **keys, rotary_dtype="float16").values()
    weights, operands = found["weights"], found["operands"]
    norms = {name for name in weights if "norm" in name}
    assert {weights[name] for name in norms} == {"Float32"}
    assert weights["model.tok_embeddings.embedding_weight"] == "Float32"
    others = weights.keys() - norms - {"model.tok_embeddings.embedding_weight"}
    assert {weights[name] for name in others} == {"Float16"}
    assert operands["MatMul"] == ["BFloat16 BFloat16"]
    assert operands["Swiglu"] == ["BFloat16"]
    assert operands["RmsNorm"] == ["Float32 Float32"]
    assert operands["RmsNormGrad"] == ["Float32 Float32 Float32 Float32"]
    for operator in ("RotaryPositionEmbedding", "RotaryPositionEmbeddingGrad"):
        assert all(types.startswith("Float16 Float16 Float16") for types in operands[operator])
    for operator in ("FlashAttentionScore", "FlashAttentionScoreGrad"):
        assert all(types.startswith("BFloat16 BFloat16 BFloat16") for types in operands[operator])
    assert operands["LogSoftmax"] == ["Float32"]
    # The residual stream.
    assert "BFloat16 BFloat16" in operands["Add"]
    assert "Float32 Float32" not in operands["Add"]


@needs_compiler
@pytest.mark.slow
def test_every_kind_of_layer_has_its_types_on_ascend(data: Path) -> None:
    keys = {"param_init_type": "bfloat16", "compute_dtype": "bfloat16", "softmax_compute_type": "float16"}
    models = ["mixtral", "gemma2", "deepseek_v3", "gpt2", "glm"]
    found = compiled(data, models, **keys, layernorm_compute_type="bfloat16", fp32_residual_connection=True)
    for name, graph in found.items():
        # Routers have a type of their own.
        extra = ["Float32 Float32"] if name in ("mixtral", "deepseek_v3") else []
        assert graph["operands"]["MatMul"] == ["BFloat16 BFloat16", *extra], name
        assert all(types.startswith("BFloat16 BFloat16") for types in graph["operands"].get("RmsNorm", [])), name
    assert all(types.startswith("BFloat16 BFloat16") for types in found["mixtral"]["operands"]["GroupedMatmul"])
    assert found["gemma2"]["operands"]["BatchMatMul"] == ["BFloat16 BFloat16"]
    assert found["gemma2"]["operands"]["Softmax"] == ["Float16"]
    assert found["gpt2"]["operands"]["LayerNormExt"] == ["BFloat16 BFloat16 BFloat16"]
    # The residual stream of ChatGLM; what is added to it is widened before.
    assert "Float32 Float32" in found["glm"]["operands"]["Add"]
    (narrow,) = compiled(data, ["glm"], **keys, layernorm_compute_type="bfloat16").values()
    assert "Float32 Float32" not in narrow["operands"]["Add"]


def test_all_is_float32_on_cpu() -> None:
    network = build(LlamaConfig(**SIZES, param_init_type="bfloat16", compute_dtype="float16"))
    assert {parameter.dtype for parameter in parameters(network).values()} == {ms.float32}


def test_chatglm_says_types_by_keys_of_its_own() -> None:
    types = ChatGLM2Config(compute_dtype="bfloat16", softmax_compute_type="float16").number_types()
    assert (types.residual, types.rotary, types.softmax) == ("bfloat16", "bfloat16", "float32")
    config = ChatGLM2Config(fp32_residual_connection=True, rotary_dtype="float16", attention_softmax_in_fp32=False)
    types = config.number_types()
    assert (types.residual, types.rotary, types.softmax) == ("float32", "float16", "float32")


def narrow(config: LlamaConfig) -> nn.Cell:
    """A network as on Ascend, which can't be run here."""
    network = build(config)
    set_number_types(network, config.number_types())
    return network


@pytest.mark.parametrize(("asked", "stored"), [("bfloat16", "BF16"), ("float16", "F16")])
def test_weights_of_16_bits_are_loaded_and_saved(asked: str, stored: str) -> None:
    config = LlamaConfig(**SIZES, param_init_type=asked)
    network = narrow(config)
    # Values that both types hold exactly.
    shapes = {name: array.shape for name, array in to_checkpoint_names(config, network)}
    random = np.random.default_rng(0)
    written = {name: random.integers(-8, 8, shape).astype(np.float32) / 16 for name, shape in shapes.items()}
    assign(config, network, ArraySource(written), "here")
    found = dict(to_checkpoint_names(config, network))
    assert found.keys() == written.keys()
    for name, array in written.items():
        np.testing.assert_array_equal(found[name].astype(np.float32), array)
    types = stored_types(config, network)
    assert types["model.layers.0.self_attn.q_proj.weight"] == types["model.embed_tokens.weight"] == stored
    assert types["model.norm.weight"] == "F32"


def test_new_weights_of_16_bits_are_the_rounded_ones() -> None:
    config = LlamaConfig(**SIZES, param_init_type="float16")
    network, wide = narrow(config), build(config)
    initialize(network, 3)
    initialize(wide, 3)
    for name, parameter in parameters(network).items():
        expected = parameters(wide)[name].asnumpy().astype(parameter.asnumpy().dtype)
        np.testing.assert_array_equal(parameter.asnumpy(), expected)

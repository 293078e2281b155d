"""The config.json of ChatGLM2, ChatGLM3 and GLM-4 as they were published: model type chatglm; imports no MindSpore.

Its keys are those of the section `model_config`, which took them over.
"""

from collections.abc import Mapping
from typing import Any

from mf_models.hf_config import HfConfig
from mf_models.hf_decoder import IGNORED_IN_HF, read_tokens

MODEL_TYPE = "chatglm"

_ALWAYS: Mapping[str, Any] = {
    "add_bias_linear": False,
    "apply_residual_connection_post_layernorm": False,
    "attention_dropout": 0.0,
    "hidden_dropout": 0.0,
    "interleaved_qkv": False,
    "original_rope": True,
    "post_layer_norm": True,
    "pre_seq_len": None,
    "quantization_bit": 0,
    "rmsnorm": True,
    "tie_word_embeddings": False,
}
"""What these files can't have otherwise."""

_WITHOUT_EFFECT = ("apply_query_key_layer_scaling", "auto_map", "bias_dropout_fusion", "classifier_dropout")
_COUNTS = (
    "seq_length",
    "hidden_size",
    "num_layers",
    "num_attention_heads",
    "multi_query_group_num",
    "kv_channels",
    "ffn_hidden_size",
    "padded_vocab_size",
)


def read_published(hf: HfConfig) -> dict[str, Any]:
    """Take the keys out of a config.json of the model type chatglm.

    Args:
        hf: the file, without its model type.

    Returns:
        Keys of `ChatGLM2Config`.
    """
    for name, value in _ALWAYS.items():
        hf.require(name, (value,), absent=value)
    hf.ignore((*_WITHOUT_EFFECT, "prefix_projection", "vocab_size", *IGNORED_IN_HF))
    return {
        **{name: hf.count(name) for name in _COUNTS},
        "multi_query_attention": hf.flag("multi_query_attention", False),
        "layernorm_epsilon": hf.number("layernorm_epsilon", 1e-5),
        "rope_ratio": hf.number("rope_ratio", 1.0),
        "add_qkv_bias": hf.flag("add_qkv_bias", False),
        "attention_softmax_in_fp32": hf.flag("attention_softmax_in_fp32", True),
        "fp32_residual_connection": hf.flag("fp32_residual_connection", False),
        **read_tokens(hf),
    }

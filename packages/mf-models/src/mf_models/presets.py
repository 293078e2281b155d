"""The published sizes by name, for MindFormers' models by the names that it has for them; imports no MindSpore.

A section `model_config` that names one in `checkpoint_name_or_path` has its values for all keys that it does not write.

Source: the run files of MindFormers 1.3 and the config.json files of the same models.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mf_config.components import components
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest
from mf_models.config_keys.dropless import dropless
from mf_models.config_keys.rotary import RotaryScaling

Values = Mapping[str, Any]

_COLUMNS = ("hidden_size", "num_layers", "num_heads", "n_kv_heads", "intermediate_size", "vocab_size")
_GLM_COLUMNS = ("num_layers", "padded_vocab_size", "layernorm_epsilon", "rope_ratio")
_GPT2_COLUMNS = ("hidden_size", "num_layers", "num_heads")

_LLAMA3_TOKENS = {"bos_token_id": 128000, "eos_token_id": 128001, "pad_token_id": 128002}
_LLAMA3 = {"rms_norm_eps": 1e-5, "theta": 5e5, **_LLAMA3_TOKENS}
_LLAMA3_1 = _LLAMA3 | {
    "extend_method": "LLAMA3",
    "scaling_factor": RotaryScaling(
        factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192
    ),
}
_QWEN_TOKENS = {"bos_token_id": 151643, "eos_token_id": 151643, "pad_token_id": 151643}
_QWEN2 = {"rms_norm_eps": 1e-6, "theta": 1e6, "qkv_has_bias": True, **_QWEN_TOKENS}
_TIED = {"tie_word_embeddings": True}
_QWEN3 = {"rms_norm_eps": 1e-6, "theta": 1e6, "kv_channels": 128, **_QWEN_TOKENS}
_GEMMA_TOKENS = {"bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0}
_PHI3 = {"sliding_window": 2047, "eos_token_id": 32000, "pad_token_id": 32000}
_YI = {"rms_norm_eps": 1e-5, "theta": 5e6}


def _deepseek(mscale: float, bos: int) -> Values:
    """Positions of DeepSeek-V2 and V3, and the tokens that begin, end and fill texts."""
    scaling = RotaryScaling(
        factor=40.0,
        original_max_position_embeddings=4096,
        beta_fast=32.0,
        beta_slow=1.0,
        mscale=mscale,
        mscale_all_dim=mscale,
    )
    tokens = {"bos_token_id": bos, "eos_token_id": bos + 1, "pad_token_id": bos + 1}
    return {"extend_method": "YARN", "scaling_factor": scaling, "max_position_embeddings": 163840, **tokens}


_LLAMA_KIND: dict[str, tuple[str, tuple[int | None, ...], Values]] = {
    "llama2_7b": ("LlamaConfig", (4096, 32, 32, None, 11008, 32000), {"rms_norm_eps": 1e-5}),
    "llama2_13b": ("LlamaConfig", (5120, 40, 40, None, 13824, 32000), {"rms_norm_eps": 1e-5}),
    "llama2_70b": ("LlamaConfig", (8192, 80, 64, 8, 28672, 32000), {"rms_norm_eps": 1e-5}),
    "llama3_8b": ("LlamaConfig", (4096, 32, 32, 8, 14336, 128256), _LLAMA3),
    "llama3_70b": ("LlamaConfig", (8192, 80, 64, 8, 28672, 128256), _LLAMA3),
    "llama3_1_8b": ("LlamaConfig", (4096, 32, 32, 8, 14336, 128256), _LLAMA3_1),
    "llama3_1_70b": ("LlamaConfig", (8192, 80, 64, 8, 28672, 128256), _LLAMA3_1),
    "codellama_34b": ("LlamaConfig", (8192, 48, 64, 8, 22016, 32000), {"rms_norm_eps": 1e-5, "theta": 1e6}),
    "yi_6b": ("LlamaConfig", (4096, 32, 32, 4, 11008, 64000), _YI),
    "yi_34b": ("LlamaConfig", (7168, 60, 56, 8, 20480, 64000), _YI),
    "deepseek_33b": (
        "LlamaConfig",
        (7168, 62, 56, 8, 19200, 32256),
        {
            "rms_norm_eps": 1e-6,
            "theta": 1e5,
            "extend_method": "PI",
            "scaling_factor": 4.0,
            "bos_token_id": 32013,
            "eos_token_id": 32021,
            "pad_token_id": 32014,
        },
    ),
    "deepseek1_5_7b": ("LlamaConfig", (4096, 30, 32, None, 11008, 102400), {"rms_norm_eps": 1e-6, "theta": 1e4}),
    "qwen1_5_0_5b": ("LlamaConfig", (1024, 24, 16, None, 2816, 151936), _QWEN2 | _TIED),
    "qwen1_5_1_8b": ("LlamaConfig", (2048, 24, 16, None, 5504, 151936), _QWEN2),
    "qwen1_5_4b": ("LlamaConfig", (2560, 40, 20, None, 6912, 151936), _QWEN2 | {"theta": 5e6}),
    "qwen1_5_7b": ("LlamaConfig", (4096, 32, 32, None, 11008, 151936), _QWEN2),
    "qwen1_5_14b": ("LlamaConfig", (5120, 40, 40, None, 13696, 152064), _QWEN2),
    "qwen1_5_32b": ("LlamaConfig", (5120, 64, 40, 8, 27392, 152064), _QWEN2),
    "qwen1_5_72b": ("LlamaConfig", (8192, 80, 64, None, 24576, 152064), _QWEN2),
    "qwen2_0_5b": ("LlamaConfig", (896, 24, 14, 2, 4864, 151936), _QWEN2 | _TIED),
    "qwen2_1_5b": ("LlamaConfig", (1536, 28, 12, 2, 8960, 151936), _QWEN2 | _TIED),
    "qwen2_7b": ("LlamaConfig", (3584, 28, 28, 4, 18944, 152064), _QWEN2),
    "qwen2_72b": ("LlamaConfig", (8192, 80, 64, 8, 29568, 152064), _QWEN2),
    "baichuan2_7b": ("Baichuan2Config", (4096, 32, 32, None, 11008, 125696), {"rms_norm_eps": 1e-6}),
    "baichuan2_13b": ("Baichuan2Config", (5120, 40, 40, None, 13696, 125696), {"rms_norm_eps": 1e-6, "alibi": True}),
    "qwen_7b": ("QwenConfig", (4096, 32, 32, None, 11008, 151936), {"rms_norm_eps": 1e-6, **_QWEN_TOKENS}),
    "qwen_14b": ("QwenConfig", (5120, 40, 40, None, 13696, 152064), {"rms_norm_eps": 1e-6, **_QWEN_TOKENS}),
    "internlm_7b": ("InternLMConfig", (4096, 32, 32, None, 11008, 103168), {"rms_norm_eps": 1e-6, "has_bias": True}),
    "internlm_20b": ("InternLMConfig", (5120, 60, 40, None, 13824, 103168), {"rms_norm_eps": 1e-5, "has_bias": False}),
    "internlm2_7b": ("InternLM2Config", (4096, 32, 32, 8, 14336, 92544), {"rms_norm_eps": 1e-5, "theta": 1e6}),
    "internlm2_20b": ("InternLM2Config", (6144, 48, 48, 8, 16384, 92544), {"rms_norm_eps": 1e-5, "theta": 1e6}),
    "mistral_7b": ("MistralConfig", (4096, 32, 32, 8, 14336, 32000), {"sliding_window": 4096}),
    "qwen3_0_6b": ("Qwen3Config", (1024, 28, 16, 8, 3072, 151936), _QWEN3 | _TIED),
    "qwen3_1_7b": ("Qwen3Config", (2048, 28, 16, 8, 6144, 151936), _QWEN3 | _TIED),
    "qwen3_4b": ("Qwen3Config", (2560, 36, 32, 8, 9728, 151936), _QWEN3 | _TIED),
    "qwen3_8b": ("Qwen3Config", (4096, 36, 32, 8, 12288, 151936), _QWEN3),
    "qwen3_14b": ("Qwen3Config", (5120, 40, 40, 8, 17408, 151936), _QWEN3),
    "qwen3_32b": ("Qwen3Config", (5120, 64, 64, 8, 25600, 151936), _QWEN3),
    "gemma2_2b": ("Gemma2Config", (2304, 26, 8, 4, 9216, 256000), _GEMMA_TOKENS),
    "gemma2_9b": ("Gemma2Config", (3584, 42, 16, 8, 14336, 256000), _GEMMA_TOKENS),
    "gemma2_27b": (
        "Gemma2Config",
        (4608, 46, 32, 16, 36864, 256000),
        {"kv_channels": 128, "query_pre_attn_scalar": 144.0, **_GEMMA_TOKENS},
    ),
    "phi3_mini": ("Phi3Config", (3072, 32, 32, 32, 8192, 32064), _PHI3),
    "phi3_medium": ("Phi3Config", (5120, 40, 40, 10, 17920, 32064), _PHI3),
    "glm4_0414_9b": (
        "Glm4Config",
        (4096, 40, 32, 2, 13696, 151552),
        {
            "rms_norm_eps": 1e-5,
            "qkv_has_bias": True,
            "bos_token_id": None,
            "eos_token_id": (151329, 151336, 151338),
            "pad_token_id": 151329,
        },
    ),
    # intermediate_size is that of blocks without experts, but for Mixtral, which has none.
    "mixtral_8x7b": ("MixtralConfig", (4096, 32, 32, 8, 14336, 32000), {"theta": 1e6}),
    "mixtral_8x22b": ("MixtralConfig", (6144, 56, 48, 8, 16384, 32000), {"theta": 1e6}),
    "qwen1_5_moe_a2_7b": ("Qwen2MoeConfig", (2048, 24, 16, 16, 5632, 151936), {"theta": 1e6, **_QWEN_TOKENS}),
    "qwen3_30b_a3b": ("Qwen3MoeConfig", (2048, 48, 32, 4, 6144, 151936), _QWEN3),
    "qwen3_235b_a22b": (
        "Qwen3MoeConfig",
        (4096, 94, 64, 4, 12288, 151936),
        {"moe_config": dropless(expert_num=128, num_experts_chosen=8, moe_intermediate_size=1536), **_QWEN3},
    ),
    "deepseek_v2": ("DeepseekV2Config", (5120, 60, 128, None, 12288, 102400), _deepseek(0.707, 100000)),
    "deepseek_v2_lite": (
        "DeepseekV2Config",
        (2048, 27, 16, None, 10944, 102400),
        {
            "q_lora_rank": None,
            "moe_config": dropless(
                expert_num=64,
                num_experts_chosen=6,
                moe_intermediate_size=1408,
                shared_expert_num=2,
                norm_topk_prob=False,
            ),
            **_deepseek(0.707, 100000),
        },
    ),
    "deepseek_v3": ("DeepseekV3Config", (7168, 61, 128, None, 18432, 129280), _deepseek(1.0, 0)),
}
"""Name to the section's type, the values of `_COLUMNS`, and what else differs from other sizes."""

_GLM: dict[str, tuple[float, ...]] = {
    "glm2_6b": (28, 65024, 1e-5, 1.0),
    "glm3_6b": (28, 65024, 1e-5, 1.0),
    "glm32k": (28, 65024, 1e-5, 50.0),
    "glm4_9b": (40, 151552, 1.5625e-7, 500.0),
}
_GLM_COMMON = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "multi_query_group_num": 2,
    "kv_channels": 128,
    "ffn_hidden_size": 13696,
}
_ALSO_WRITTEN_AS = {"Baichuan2Config": "LlamaConfig"}
"""Sections to those that run files have in their place, beside the name of the network, which then says the rest."""
_GPT2 = {"gpt2": (768, 12, 12), "gpt2_lora": (768, 12, 12), "gpt2_13b": (5120, 40, 40), "gpt2_52b": (8192, 64, 32)}


def _all() -> dict[str, tuple[str, Values]]:
    """Name to the section's type and all its values."""
    return {
        **{
            name: (kind, {**dict(zip(_COLUMNS, sizes, strict=True)), **rest})
            for name, (kind, sizes, rest) in _LLAMA_KIND.items()
        },
        **{
            name: ("ChatGLM2Config", {**_GLM_COMMON, **dict(zip(_GLM_COLUMNS, values, strict=True))})
            for name, values in _GLM.items()
        },
        **{name: ("GPT2Config", dict(zip(_GPT2_COLUMNS, sizes, strict=True))) for name, sizes in _GPT2.items()},
    }


PRESETS: Mapping[str, tuple[str, Values]] = _all()


def preset(name: str, **changes: Any) -> Any:
    """The configuration of a published size.

    Args:
        name: a key of `PRESETS`, such as `llama2_7b`.
        **changes: values that differ.

    Raises:
        UserError: there is no such size.
    """
    if name not in PRESETS:
        raise UserError("; ".join(f"{what}. Allowed: {allowed}." for what, allowed in _unknown(name)))
    kind, values = PRESETS[name]
    return components("model")[kind](**{**values, **changes})


def implied_values(kind: str, name: str | None) -> Values:
    """What a section of a type has in its unwritten keys; nothing where it names no size of this type."""
    expected, values = PRESETS.get(name or "", ("", {}))
    if expected == kind:
        return values
    is_other = _ALSO_WRITTEN_AS.get(expected) == kind
    return {key: value for key, value in values.items() if key != "alibi"} if is_other else {}


def preset_problems(kind: str, name: str | None) -> Iterator[tuple[str, str]]:
    """What is wrong with a name in a section of a type, and what is allowed; a path is never wrong."""
    if not name or "/" in name or "\\" in name or "." in name:
        return
    if name not in PRESETS:
        yield from _unknown(name)
    elif kind not in (PRESETS[name][0], _ALSO_WRITTEN_AS.get(PRESETS[name][0])):
        yield f"{name} is a size of {PRESETS[name][0]}", name_values(_of_kind(kind))


def _unknown(name: str) -> Iterator[tuple[str, str]]:
    near = nearest(name, PRESETS)
    hint = f"; did you mean {near}?" if near else ""
    yield f"{name} is neither a path nor a published size{hint}", name_values(sorted(PRESETS))


def _of_kind(kind: str) -> list[str]:
    return sorted(name for name, (own, _) in PRESETS.items() if own == kind) or ["a path"]

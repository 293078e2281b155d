"""The configuration of every family: sections as real run files have them, and one wrong value a check."""

from collections.abc import Callable
from typing import Any

import pytest

from mf_config.components import components
from mf_config.problems import UserError
from mf_config.schema import declarations, tag_of
from mf_models.families.llama import LlamaConfig
from mf_models.registry import config_from_hf, family_of

Read = Callable[..., tuple[Any, list[str]]]

SIZES = ("num_layers", "num_heads", "num_kv_heads", "hidden_size", "seq_length", "vocab_size")

CHATGLM2 = """
type: ChatGLM2Config
batch_size: 1   # only for incremental infer
num_layers: 40
padded_vocab_size: 151552
hidden_size: 4096
ffn_hidden_size: 13696
kv_channels: 128
num_attention_heads: 32
seq_length: 8192
hidden_dropout: 0.0
layernorm_epsilon: 1e-5
rope_ratio: 500
rmsnorm: True
add_qkv_bias: True
multi_query_attention: True
multi_query_group_num: 2
quantization_bit: 0
pre_seq_len: None
no_recompute_layers: [20]
param_init_type: "bfloat16"
eos_token_id: [151329, 151336, 151338]
pad_token_id: 151329
max_length: 8192
top_k: 1
auto_map:
  AutoTokenizer: [glm4_tokenizer.ChatGLM4Tokenizer, null]
"""

COGVLM2 = """
type: CogVLM2Config
use_past: True
num_queries: 66
vision_model:
  arch:
    type: EVAModel
  model_config:
    type: EVA02Config
    image_size: 224
    patch_size: 14
    hidden_size: 1792
    num_hidden_layers: 63
    num_attention_heads: 16
    intermediate_size: 15360
    layer_norm_eps: 1e-6
    use_swiglu: False
    rotary_emb_type: "float32"
llm_model:
  arch:
    type: CogVLM2VideoLM
  model_config:
    type: LlamaConfig
    seq_length: 2048
    n_kv_heads: 8
    vocab_size: 128256
    bos_token_id: 128000
    eos_token_id: 128001
    pad_token_id: 128002
"""

QWENVL = """
type: QwenVLConfig
freeze_vision: True
freeze_resampler: False
compute_dtype: "bfloat16"
vision_model:
  arch:
    type: QwenVLVisionModel
  model_config:
    type: QwenVLVisionConfig
    hidden_size: 1664
    num_attention_heads: 16
    gelu_dtype: "float32"
llm_model:
  arch:
    type: QwenForCausalLM
  model_config:
    type: QwenConfig
    vocab_size: 151936
    intermediate_size: 11008
    enable_slice_dp: False
    enable_emb_opt: True
    embedding_parallel_optimizer: False
    eos_token_id: 151643
    pad_token_id: 151643
"""

WHISPER = """
type: WhisperConfig
d_model: 1280
encoder_layers: 32
encoder_attention_heads: 20
encoder_ffn_dim: 5120
decoder_layers: 32
decoder_attention_heads: 20
decoder_ffn_dim: 5120
num_hidden_layers: 32
num_layers_of_each_stage: null
num_mel_bins: 128
max_target_positions: 448
vocab_size: 51866
decoder_start_token_id: 50258
is_encoder_decoder: True
dropout: 0.0
activation_dropout: 0
activation_function: 'gelu'
layernorm_compute_dtype: 'float32'
bos_token_id: 50257
eos_token_id: 50257
pad_token_id: 50256
"""

DEEPSEEK2 = """
type: DeepseekV2Config
num_heads: 128
hidden_size: 5120
num_layers: 60
kv_lora_rank: 512
q_lora_rank: 1536
qk_rope_head_dim: 64
max_position_embeddings: 163840
scaling_factor: {factor: 40.0, beta_fast: 32.0, beta_slow: 1.0, mscale: 0.707, mscale_all_dim: 0.707,
  original_max_position_embeddings: 4096}
"""

DEEPSEEK3 = """
type: DeepseekV3Config
seq_length: 4096
hidden_size: 7168
num_layers: 61
num_heads: 128
n_kv_heads: 128
max_position_embeddings: 4096
kv_lora_rank: 512
q_lora_rank: 1536
router_dense_type: "float32"
extend_method: "None"
use_fused_swiglu: True
use_fused_rope: True
input_sliced_sig: True
offset: [1, 1, 1, -1]
return_extra_loss: True
mtp_depth: 1
mtp_loss_factor: 0.3
"""

SECTIONS = {
    "GPT2Config": (
        "type: GPT2Config\nseq_length: 2048\nhidden_size: 5120\nnum_layers: 40\nnum_heads: 40\nhidden_act: fast_gelu\n"
        "use_prompt_flash_attention: False\neos_token_id: 50256\nnum_labels: 2\n",
        (40, 40, 40, 5120, 2048, 50257),
        {"expand_ratio": 4, "hidden_dropout_rate": 0.1, "pad_token_id": 50256, "param_init_type": "float32"},
    ),
    "QwenConfig": (
        "type: QwenConfig\nnum_layers: 40\nnum_heads: 40\nhidden_size: 5120\nvocab_size: 152064\n"
        "intermediate_size: 13696\nrotary_emb_base: 10000\nkv_channels: 128\neos_token_id: 151643\ntop_k: 0\n"
        "top_p: 0.8\n",
        (40, 40, 40, 5120, 2048, 152064),
        {"eos_token_ids": (151643,), "inner_size": 13696, "top_p": 0.8},
    ),
    "InternLMConfig": (
        "type: InternLMConfig\nnum_layers: 60\nnum_heads: 40\nhidden_size: 5120\nhas_bias: False\nmultiple_of: 256\n",
        (60, 40, 40, 5120, 2048, 103168),
        {"has_bias": False, "inner_size": 13824, "rms_norm_eps": 1e-6, "pad_token_id": 2, "max_decode_length": 512},
    ),
    "InternLM2Config": (
        "type: InternLM2Config\nqkv_concat: True\ntheta: 1000000\neos_token_id: [2, 92542]\n",
        (32, 32, 8, 4096, 2048, 92544),
        {"inner_size": 14336, "theta": 1e6, "eos_token_ids": (2, 92542)},
    ),
    "DeepseekV2Config": (
        DEEPSEEK2,
        (60, 128, 128, 5120, 2048, 102400),
        {"extend_method": "YARN", "max_positions": 163840, "v_head_dim": 128, "rms_norm_eps": 1e-6},
    ),
    "DeepseekV3Config": (
        DEEPSEEK3,
        (61, 128, 128, 7168, 4096, 129280),
        {"intermediate_size": 18432, "dense_layers": (0, 1, 2), "shared_size": 2048, "mtp_depth": 1},
    ),
    "ChatGLM2Config": (
        CHATGLM2,
        (40, 32, 2, 4096, 8192, 151552),
        {
            "layernorm_epsilon": 1e-5,
            "rope_ratio": 500,
            "pre_seq_len": None,
            "bos_token_id": None,
            "num_blocks": 128,
            "no_recompute_layers": (20,),
            "auto_map": {"AutoTokenizer": ("glm4_tokenizer.ChatGLM4Tokenizer", None)},
        },
    ),
    "CogVLM2Config": (COGVLM2, (32, 32, 8, 4096, 2048, 128256), {"num_queries": 66, "freeze_adapter": False}),
    "QwenVLConfig": (
        QWENVL,
        (32, 32, 32, 4096, 2048, 151936),
        {"compute_dtype": "bfloat16", "param_init_type": None, "freeze_vision": True, "num_queries": 256},
    ),
    "WhisperConfig": (WHISPER, (64, 20, 20, 1280, 448, 51866), {"num_layers_of_each_stage": None, "num_mel_bins": 128}),
}


WITH_EXPERTS = {"MixtralConfig", "Qwen2MoeConfig", "Qwen3MoeConfig"}

NEWER = {"MistralConfig", "Qwen3Config", "Phi3Config", "Glm4Config", "Gemma2Config", "Baichuan2Config", *WITH_EXPERTS}
"""Families that MindFormers has no section of; other tests run their networks."""

CHECKED_ONLY = {"CogVLM2Config", "QwenVLConfig", "WhisperConfig"}


def test_every_family_has_a_section_here() -> None:
    assert {"LlamaConfig", *NEWER, *SECTIONS} == set(components("model"))


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_as_real_files_have_it(name: str, read_section: Read) -> None:
    text, sizes, values = SECTIONS[name]
    section, mistakes = read_section(text)
    assert not mistakes
    assert type(section).__name__ == name
    assert tuple(getattr(section, size) for size in SIZES) == sizes
    assert {key: getattr(section, key) for key in values} == values


def test_the_parts_of_a_vision_language_model_have_sections_of_their_own(read_section: Read) -> None:
    vision, language = (read_section(COGVLM2)[0].vision_model, read_section(COGVLM2)[0].llm_model)
    assert (vision.model_config.hidden_size, vision.model_config.layer_norm_eps) == (1792, 1e-6)
    assert (language.arch.type, language.model_config.eos_token_ids) == ("CogVLM2VideoLM", (128001,))
    assert isinstance(language.model_config, LlamaConfig)
    assert read_section(QWENVL)[0].vision_model.model_config.image_size == 448


@pytest.mark.parametrize(
    ("name", "old", "new", "mistake"),
    [
        ("GPT2Config", "num_heads: 40", "num_heads: 48", "3: hidden_size: 5120 is not divisible by num_heads 48."),
        ("GPT2Config", "fast_gelu", "swiglu", "6: hidden_act: swiglu is not allowed."),
        ("GPT2Config", "eos_token_id: 50256", "eos_token_id: 60000", "8: eos_token_id: 60000 is not in a vocabulary"),
        ("QwenConfig", "top_p: 0.8", "num_hidden_layers: 32", "11: num_hidden_layers: 32 differs from num_layers 40"),
        ("InternLMConfig", "has_bias: False", "has_bais: False", "5: has_bais: unknown key."),
        ("InternLM2Config", "92542", "92545", "4: eos_token_id: 92545 is not in a vocabulary of 92544."),
        ("DeepseekV2Config", "qk_rope_head_dim: 64", "qk_rope_head_dim: 63", "8: qk_rope_head_dim: 63 is odd"),
        ("DeepseekV2Config", "beta_fast: 32.0,", "", "scaling_factor.beta_fast: is missing, and extend_method YARN"),
        (
            "ChatGLM2Config",
            "group_num: 2",
            "group_num: 3",
            "17: multi_query_group_num: 3 does not divide num_attention",
        ),
        ("ChatGLM2Config", "151329, ", "151552, ", "eos_token_id: 151552 is not in a vocabulary of 151552."),
        ("CogVLM2Config", "CogVLM2VideoLM", "LlamaForCausalLM", "21: llm_model.arch.type: LlamaForCausalLM is not"),
        (
            "CogVLM2Config",
            "type: EVA02Config",
            "type: EVAConfig",
            "9: vision_model.model_config.type: EVAConfig is not",
        ),
        ("CogVLM2Config", "patch_size: 14", "patch_size: 15", "image_size: 224 is not divisible by patch_size 15."),
        ("CogVLM2Config", "n_kv_heads: 8", "n_kv_heads: 7", "llm_model.model_config.n_kv_heads: 7 does not divide"),
        ("QwenVLConfig", "num_attention_heads: 16", "num_attention_heads: 15", "hidden_size: 1664 is not divisible by"),
        (
            "WhisperConfig",
            "decoder_attention_heads: 20",
            "decoder_attention_heads: 19",
            "19 does not divide d_model 1280",
        ),
        ("WhisperConfig", "token_id: 50258", "token_id: 51866", "decoder_start_token_id: 51866 is not in a vocabulary"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(
    name: str, old: str, new: str, mistake: str, read_section: Read
) -> None:
    text = SECTIONS[name][0]
    assert old in text
    mistakes = read_section(text.replace(old, new, 1))[1]
    assert len(mistakes) == 1
    assert mistake in mistakes[0]


def test_every_key_of_every_family_says_what_it_does() -> None:
    docs = [declared.key.doc for cls in components("model").values() for declared in declarations(cls).values()]
    assert all(doc.endswith(".") and len(doc) > 8 for doc in docs)


def test_an_architecture_belongs_to_one_family() -> None:
    classes: list[Any] = list(components("model").values())
    names = [name for cls in classes for name in cls.architectures]
    assert len(names) == len(set(names))
    assert all(set(cls.pending_architectures) < set(cls.architectures) for cls in classes)


def test_a_family_without_a_network_is_checked_only(read_section: Read) -> None:
    pending = {name for name, cls in components("model").items() if (tag := tag_of(cls)) and tag.pending}
    assert pending == CHECKED_ONLY
    with pytest.raises(UserError, match=r"WhisperConfig: can't be run yet: its network is not built yet\."):
        family_of(read_section(SECTIONS["WhisperConfig"][0])[0])


def test_a_hugging_face_directory_is_opened_by_families_with_a_network_only() -> None:
    with pytest.raises(
        UserError, match=r"model_type: no family 'whisper'. Allowed: baichuan, chatglm, deepseek_v2, deepseek_v3"
    ):
        config_from_hf({"model_type": "whisper"}, "config.json")


def test_sections_of_newer_families_are_read(read_section: Read) -> None:
    text = "type: {}\nhidden_size: 48\nnum_layers: 2\nnum_heads: 4\nvocab_size: 160\nintermediate_size: 96\n"
    for name in NEWER:
        section, mistakes = read_section(text.format(name) + "eos_token_id: 2\n")
        assert not mistakes
        assert type(section).from_hf(section.to_hf()).to_hf() == section.to_hf()
    assert read_section(text.format("MistralConfig") + "sliding_window: 5\nkv_channels: 16\n")[0].head_dim == 16
    for extra, mistake in (
        ("kv_channels: 15\n", "kv_channels: 15 is odd"),
        ("rotary_pct: 0.01\n", "rotary_pct: 0.01 of"),
    ):
        assert mistake in read_section(text.format("Glm4Config") + extra)[1][0]
    assert "qkv_has_bias: True is not allowed" in read_section(text.format("Phi3Config") + "qkv_has_bias: True\n")[1][0]

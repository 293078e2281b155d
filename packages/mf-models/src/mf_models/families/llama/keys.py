"""Names of Llama's tensors: cell parameter on the left, Hugging Face checkpoint on the right."""

from collections.abc import Mapping

from mf_ckpt import KeyMap, Permute, Rename
from mf_ckpt.rows import Row
from mf_models.families.llama.config import LlamaConfig

_ROWS = (
    Rename("model.tok_embeddings.embedding_weight", "model.embed_tokens.weight"),
    Rename("model.layers.{layer}.attention_norm.weight", "model.layers.{layer}.input_layernorm.weight"),
    Rename("model.layers.{layer}.attention.wq.weight", "model.layers.{layer}.self_attn.q_proj.weight"),
    Rename("model.layers.{layer}.attention.wk.weight", "model.layers.{layer}.self_attn.k_proj.weight"),
    Rename("model.layers.{layer}.attention.wv.weight", "model.layers.{layer}.self_attn.v_proj.weight"),
    Rename("model.layers.{layer}.attention.wo.weight", "model.layers.{layer}.self_attn.o_proj.weight"),
    Rename("model.layers.{layer}.ffn_norm.weight", "model.layers.{layer}.post_attention_layernorm.weight"),
    Rename("model.layers.{layer}.feed_forward.w1.weight", "model.layers.{layer}.mlp.gate_proj.weight"),
    Rename("model.layers.{layer}.feed_forward.w2.weight", "model.layers.{layer}.mlp.down_proj.weight"),
    Rename("model.layers.{layer}.feed_forward.w3.weight", "model.layers.{layer}.mlp.up_proj.weight"),
    Rename("model.norm_out.weight", "model.norm.weight"),
)
_HEAD = Rename("lm_head.weight", "lm_head.weight")

TIED = {"lm_head.weight": "model.embed_tokens.weight"}
"""Hugging Face tensors that the checkpoint of a tied model may hold beside their originals, as equals."""

IGNORED = ("model.layers.*.self_attn.rotary_emb.inv_freq",)
"""Buffers of old exports that hold no weight, as shell patterns."""


def key_map(config: LlamaConfig) -> KeyMap:
    """The names of one model; a tied one has no head of its own."""
    return KeyMap(_ROWS if config.tie_word_embeddings else (*_ROWS, _HEAD))


def forms(config: LlamaConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of other programs: the cells have MindFormers' names, GGUF files llama.cpp's."""
    return {"mindspore": key_map(config).inverse, "gguf": _gguf(config)}


def _gguf(config: LlamaConfig) -> KeyMap:
    """The names of a GGUF file, whose queries and keys are rotated in interleaved pairs.

    Source: the table of tensor names and the conversion of Llama models published with llama.cpp.
    """
    layer, block = "model.layers.{layer}", "blk.{layer}"
    rows: list[Row] = [
        Rename("model.embed_tokens.weight", "token_embd.weight"),
        Rename(f"{layer}.input_layernorm.weight", f"{block}.attn_norm.weight"),
        Permute(f"{layer}.self_attn.q_proj.weight", f"{block}.attn_q.weight", config.head_dim, to_halves=False),
        Permute(f"{layer}.self_attn.k_proj.weight", f"{block}.attn_k.weight", config.head_dim, to_halves=False),
        Rename(f"{layer}.self_attn.v_proj.weight", f"{block}.attn_v.weight"),
        Rename(f"{layer}.self_attn.o_proj.weight", f"{block}.attn_output.weight"),
        Rename(f"{layer}.post_attention_layernorm.weight", f"{block}.ffn_norm.weight"),
        Rename(f"{layer}.mlp.gate_proj.weight", f"{block}.ffn_gate.weight"),
        Rename(f"{layer}.mlp.down_proj.weight", f"{block}.ffn_down.weight"),
        Rename(f"{layer}.mlp.up_proj.weight", f"{block}.ffn_up.weight"),
        Rename("model.norm.weight", "output_norm.weight"),
    ]
    return KeyMap(rows if config.tie_word_embeddings else [*rows, Rename("lm_head.weight", "output.weight")])

"""Names of the tensors of Qwen's first generation: cell parameter on the left, published file on the right."""

from collections.abc import Mapping

from mf_ckpt import Join, KeyMap, Rename, Split
from mf_ckpt.keymap.rows import Row
from mf_models.families.qwen.config import QwenConfig

TIED = {"lm_head.weight": "transformer.wte.weight"}
"""Published tensors that the checkpoint of a tied model may hold beside their originals, as equals."""

IGNORED = ("transformer.h.*.attn.masked_bias", "transformer.rotary_emb.inv_freq", "transformer.h.*.rotary_emb.inv_freq")
"""Buffers of old exports that hold no weight, as shell patterns."""

_CELL, _STORED = "model.layers.{layer}", "transformer.h.{layer}"
_MINDFORMERS, _GGUF = "transformer.layers.{layer}", "blk.{layer}"
_LAYER = {
    "attention_norm.weight": ("ln_1.weight", "attention_norm.weight", "attn_norm.weight"),
    "attention.wo.weight": ("attn.c_proj.weight", "attention.wo.weight", "attn_output.weight"),
    "ffn_norm.weight": ("ln_2.weight", "ffn_norm.weight", "ffn_norm.weight"),
    # The file applies SiLU to w2, and MindFormers to what it calls w3.
    "feed_forward.w1.weight": ("mlp.w2.weight", "feed_forward.w3.weight", "ffn_gate.weight"),
    "feed_forward.w3.weight": ("mlp.w1.weight", "feed_forward.w1.weight", "ffn_up.weight"),
    "feed_forward.w2.weight": ("mlp.c_proj.weight", "feed_forward.w2.weight", "ffn_down.weight"),
}
"""Cell parameter to the names of the published file, of MindFormers and of GGUF files."""
_OUTSIDE = {
    "model.tok_embeddings.embedding_weight": (
        "transformer.wte.weight",
        "transformer.wte.embedding_weight",
        "token_embd.weight",
    ),
    "model.norm_out.weight": ("transformer.ln_f.weight", "transformer.ln_f.weight", "output_norm.weight"),
}
_HEAD = {"lm_head.weight": ("lm_head.weight", "lm_head.weight", "output.weight")}
_QKV = ("wq", "wk", "wv")
_KINDS = ("weight", "bias")


def key_map(config: QwenConfig) -> KeyMap:
    """The names of one model."""
    rows: list[Row] = [Rename(cell, names[0]) for cell, names in _outside(config).items()]
    rows += [Rename(f"{_CELL}.{cell}", f"{_STORED}.{names[0]}") for cell, names in _LAYER.items()]
    rows += [
        Join(_parts(f"{_CELL}.attention", kind), f"{_STORED}.attn.c_attn.{kind}", _sizes(config)) for kind in _KINDS
    ]
    return KeyMap(rows)


def forms(config: QwenConfig) -> Mapping[str, KeyMap]:
    """Published names to MindFormers', whose query, key and value are apart, and to those of GGUF files."""
    fused = [f"{_STORED}.attn.c_attn.{kind}" for kind in _KINDS]
    parts = [_parts(f"{_MINDFORMERS}.attention", kind) for kind in _KINDS]
    split = [Split(whole, own, _sizes(config)) for whole, own in zip(fused, parts, strict=True)]
    renamed = [Rename(whole, f"{_GGUF}.attn_qkv.{kind}") for whole, kind in zip(fused, _KINDS, strict=True)]
    return {
        "mindspore": KeyMap([*_other_names(config, 1, _MINDFORMERS), *split]),
        "gguf": KeyMap([*_other_names(config, 2, _GGUF), *renamed]),
    }


def _other_names(config: QwenConfig, column: int, layer: str) -> list[Row]:
    """The rows of all tensors that other programs store as the published file does."""
    rows: list[Row] = [Rename(names[0], names[column]) for names in _outside(config).values()]
    return rows + [Rename(f"{_STORED}.{names[0]}", f"{layer}.{names[column]}") for names in _LAYER.values()]


def _outside(config: QwenConfig) -> Mapping[str, tuple[str, str, str]]:
    """The tensors outside the layers; a tied model has no head of its own."""
    return _OUTSIDE if config.tie_word_embeddings else _OUTSIDE | _HEAD


def _parts(attention: str, kind: str) -> tuple[str, ...]:
    return tuple(f"{attention}.{part}.{kind}" for part in _QKV)


def _sizes(config: QwenConfig) -> tuple[int, ...]:
    return (config.hidden_size,) * 3

"""Names of InternLM2's tensors: cell parameter on the left, published file on the right."""

from collections.abc import Mapping

from mf_ckpt import Join, KeyMap, Rename, Split
from mf_ckpt.keymap.rows import Row
from mf_models.families.internlm2.config import InternLM2Config

TIED = {"output.weight": "model.tok_embeddings.weight"}
"""Published tensors that the checkpoint of a tied model may hold beside their originals, as equals."""

IGNORED = ("model.layers.*.attention.rotary_emb.inv_freq",)
"""Buffers of old exports that hold no weight, as shell patterns."""

_LAYER = "model.layers.{layer}"
_UNCHANGED = (
    "attention_norm.weight",
    "ffn_norm.weight",
    "attention.wo.weight",
    "feed_forward.w1.weight",
    "feed_forward.w2.weight",
    "feed_forward.w3.weight",
)
_OUTSIDE = {
    "model.tok_embeddings.embedding_weight": "model.tok_embeddings.weight",
    "model.norm_out.weight": "model.norm.weight",
}
"""The cells have MindFormers' names."""
_HEAD = {"lm_head.weight": "output.weight"}
_PARTS = tuple(f"{_LAYER}.attention.{part}.weight" for part in ("wq", "wk", "wv"))
_FUSED = f"{_LAYER}.attention.wqkv.weight"


def key_map(config: InternLM2Config) -> KeyMap:
    """The names of one model; each key/value head stands behind the query heads that read it."""
    return KeyMap([*_rows(config), Join(_PARTS, _FUSED, _sizes(config), groups=config.num_kv_heads)])


def forms(config: InternLM2Config) -> Mapping[str, KeyMap]:
    """Published names to MindFormers', which keeps the fused matrix as it is, or has its parts."""
    fused: Row = Rename(_FUSED, f"{_LAYER}.attention.w.weight")
    if not config.qkv_concat:
        fused = Split(_FUSED, _PARTS, _sizes(config), groups=config.num_kv_heads)
    return {"mindspore": KeyMap([*(row.inverse() for row in _rows(config)), fused])}


def _rows(config: InternLM2Config) -> list[Row]:
    outside = _OUTSIDE if config.tie_word_embeddings else _OUTSIDE | _HEAD
    rows: list[Row] = [Rename(cell, stored) for cell, stored in outside.items()]
    return rows + [Rename(f"{_LAYER}.{name}", f"{_LAYER}.{name}") for name in _UNCHANGED]


def _sizes(config: InternLM2Config) -> tuple[int, int, int]:
    key = config.num_kv_heads * config.head_dim
    return config.num_heads * config.head_dim, key, key

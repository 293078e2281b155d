"""Names of GPT-2's tensors: cell parameter on the left, Hugging Face on the right, whose matrices are [in, out]."""

from collections.abc import Mapping

from mf_ckpt import Join, KeyMap, Rename, Split, Transpose
from mf_ckpt.keymap.rows import Row
from mf_models.families.gpt2.config import GPT2Config
from mf_models.family_tables.names import head_rows
from mf_models.family_tables.transposed import TransposedJoin, TransposedSplit

TIED = {"lm_head.weight": "transformer.wte.weight"}
"""Hugging Face tensors that a checkpoint may hold beside their originals, as equals."""

IGNORED = ("transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias")
"""Masks in old exports, as shell patterns."""

_CELL, _STORED, _MINDFORMERS = "model.layers.{layer}", "transformer.h.{layer}", "backbone.blocks.{layer}"
_QKV = ("wq", "wk", "wv")
_VECTORS = {
    "attention_norm.weight": ("ln_1.weight", "layernorm1.gamma"),
    "attention_norm.bias": ("ln_1.bias", "layernorm1.beta"),
    "attention.wo.bias": ("attn.c_proj.bias", "attention.projection.bias"),
    "ffn_norm.weight": ("ln_2.weight", "layernorm2.gamma"),
    "ffn_norm.bias": ("ln_2.bias", "layernorm2.beta"),
    "feed_forward.w1.bias": ("mlp.c_fc.bias", "output.mapping.bias"),
    "feed_forward.w2.bias": ("mlp.c_proj.bias", "output.projection.bias"),
}
_MATRICES = {
    "attention.wo.weight": ("attn.c_proj.weight", "attention.projection.weight"),
    "feed_forward.w1.weight": ("mlp.c_fc.weight", "output.mapping.weight"),
    "feed_forward.w2.weight": ("mlp.c_proj.weight", "output.projection.weight"),
}
"""Cell parameter to the names of Hugging Face and MindFormers, which both store these matrices as [in, out]."""
_TABLES = {
    "model.tok_embeddings.embedding_weight": (
        "transformer.wte.weight",
        "backbone.embedding.word_embedding.embedding_table",
    ),
    "model.position_embeddings.embedding_weight": (
        "transformer.wpe.weight",
        "backbone.embedding.position_embedding.embedding_table",
    ),
}
_LAST_NORM = {
    "model.norm_out.weight": ("transformer.ln_f.weight", "backbone.layernorm.gamma"),
    "model.norm_out.bias": ("transformer.ln_f.bias", "backbone.layernorm.beta"),
}


def key_map(config: GPT2Config) -> KeyMap:
    """The names of one model."""
    sizes = (config.hidden_size,) * 3
    weights, biases = (tuple(f"{_CELL}.attention.{part}.{kind}" for part in _QKV) for kind in ("weight", "bias"))
    rows: list[Row] = [Rename(cell, stored) for cell, (stored, _) in _TABLES.items()]
    rows += [Rename(f"{_CELL}.{cell}", f"{_STORED}.{stored}") for cell, (stored, _) in _VECTORS.items()]
    rows += [Transpose(f"{_CELL}.{cell}", f"{_STORED}.{stored}") for cell, (stored, _) in _MATRICES.items()]
    rows.append(TransposedJoin(weights, f"{_STORED}.attn.c_attn.weight", sizes))
    rows.append(Join(biases, f"{_STORED}.attn.c_attn.bias", sizes))
    rows += [Rename(cell, stored) for cell, (stored, _) in _LAST_NORM.items()]
    return KeyMap([*rows, *head_rows(config)])


def forms(config: GPT2Config) -> Mapping[str, KeyMap]:
    """Hugging Face names to MindFormers', whose query, key and value are apart and stored as [out, in]."""
    sizes = (config.hidden_size,) * 3
    weights, biases = (
        tuple(f"{_MINDFORMERS}.attention.dense{number}.{kind}" for number in (1, 2, 3)) for kind in ("weight", "bias")
    )
    rows: list[Row] = [Rename(*pair) for pair in (_TABLES | _LAST_NORM).values()]
    rows += [
        Rename(f"{_STORED}.{stored}", f"{_MINDFORMERS}.{other}") for stored, other in (_VECTORS | _MATRICES).values()
    ]
    rows.append(TransposedSplit(f"{_STORED}.attn.c_attn.weight", weights, sizes))
    rows.append(Split(f"{_STORED}.attn.c_attn.bias", biases, sizes))
    return {"mindspore": KeyMap(rows)}

"""Tensor names of decoders of the Llama kind: cell parameter on the left, Hugging Face checkpoint on the right."""

from collections.abc import Iterable, Mapping

from mf_ckpt import Join, KeyMap, Permute, Rename
from mf_ckpt.keymap.rows import Row
from mf_models.model_config import DecoderSizes, ModelConfig

LAYER = "model.layers.{layer}"

TIED = {"lm_head.weight": "model.embed_tokens.weight"}
"""Hugging Face tensors that the checkpoint of a tied model may hold beside their originals, as equals."""

IGNORED = ("model.layers.*.self_attn.rotary_emb.inv_freq",)
"""Buffers of old exports that hold no weight, as shell patterns."""

ATTENTION = {"wq": "q_proj", "wk": "k_proj", "wv": "v_proj", "wo": "o_proj"}
"""Projections of the attention cell to Hugging Face's names."""

BLOCK_NORMS = {"attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
"""Norms of a block to Hugging Face's names."""

HEAD_NORMS = {"attention.q_norm": "self_attn.q_norm", "attention.k_norm": "self_attn.k_norm"}
"""Norms of each query and key head to Hugging Face's names."""


def key_map(config: DecoderSizes, layer_rows: Iterable[Row], norm: str = "weight") -> KeyMap:
    """A whole model; a tied one has no head of its own, unless it finds classes.

    Args:
        config: the family's configuration.
        layer_rows: what a block holds.
        norm: name of a norm's parameter in the cells.
    """
    return KeyMap(
        (
            Rename("model.tok_embeddings.embedding_weight", "model.embed_tokens.weight"),
            *layer_rows,
            Rename(f"model.norm_out.{norm}", "model.norm.weight"),
            *head_rows(config),
        )
    )


def head_rows(config: ModelConfig) -> tuple[Row, ...]:
    """The head, where it has a weight of its own."""
    if config.num_labels is not None:
        return (Rename("score.weight", "score.weight"),)
    return () if config.tie_word_embeddings else (Rename("lm_head.weight", "lm_head.weight"),)


def norm_rows(names: Mapping[str, str], norm: str = "weight") -> tuple[Row, ...]:
    """The norms of a block: cell name to Hugging Face's."""
    return tuple(Rename(f"{LAYER}.{cell}.{norm}", f"{LAYER}.{stored}.weight") for cell, stored in names.items())


def projection_rows(biased: Iterable[str] = ()) -> tuple[Row, ...]:
    """The four projections of attention, each stored apart; `biased` are the cell names of those with a bias."""
    kinds = [(cell, "weight") for cell in ATTENTION] + [(cell, "bias") for cell in biased]
    return tuple(
        Rename(f"{LAYER}.attention.{cell}.{kind}", f"{LAYER}.self_attn.{ATTENTION[cell]}.{kind}")
        for cell, kind in kinds
    )


def interleaved_projection_rows(config: DecoderSizes, rotary_size: int) -> tuple[Row, ...]:
    """As `projection_rows`, but the file has the rotated elements of a head in neighbouring pairs."""
    rows: list[Row] = [Rename(f"{LAYER}.attention.wo.weight", f"{LAYER}.self_attn.o_proj.weight")]
    for kind in ("weight", "bias") if config.qkv_has_bias else ("weight",):
        rows += [
            Permute(
                f"{LAYER}.attention.{cell}.{kind}",
                f"{LAYER}.self_attn.{ATTENTION[cell]}.{kind}",
                config.head_dim,
                rotary_size,
                to_halves=False,
            )
            for cell in ("wq", "wk")
        ]
        rows.append(Rename(f"{LAYER}.attention.wv.{kind}", f"{LAYER}.self_attn.v_proj.{kind}"))
    return tuple(rows)


def fused_projection_rows(config: DecoderSizes, stored: str = "qkv_proj") -> tuple[Row, ...]:
    """As `projection_rows`, but the file has query, key and value in one matrix of the name `stored`."""
    parts = tuple(f"{LAYER}.attention.{cell}.weight" for cell in ("wq", "wk", "wv"))
    query, key = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    return (
        Join(parts, f"{LAYER}.self_attn.{stored}.weight", (query, key, key)),
        Rename(f"{LAYER}.attention.wo.weight", f"{LAYER}.self_attn.o_proj.weight"),
    )


def gated_rows() -> tuple[Row, ...]:
    """A gated feed-forward, each matrix stored apart."""
    names = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}
    return tuple(
        Rename(f"{LAYER}.feed_forward.{cell}.weight", f"{LAYER}.mlp.{stored}.weight") for cell, stored in names.items()
    )


def fused_gated_rows(config: DecoderSizes) -> tuple[Row, ...]:
    """A gated feed-forward whose gate and up the file has in one matrix."""
    parts = tuple(f"{LAYER}.feed_forward.{cell}.weight" for cell in ("w1", "w3"))
    return (
        Join(parts, f"{LAYER}.mlp.gate_up_proj.weight", (config.inner_size, config.inner_size)),
        Rename(f"{LAYER}.feed_forward.w2.weight", f"{LAYER}.mlp.down_proj.weight"),
    )

"""Names and whole shapes of all parameters of a decoder, from its sizes alone; imports no MindSpore.

What the cells in `mf_models.layers` make, in the same order: plans for jobs of thousands of devices need no cells.
"""

from collections.abc import Iterator

from mf_models.layers.config import UNGATED, DecoderConfig
from mf_models.layers.latent_config import LatentConfig
from mf_models.layers.moe_config import MoeConfig

Shape = tuple[int, ...]
Shapes = dict[str, Shape]
"""Dotted name to whole shape, in the order of the cells."""

BLOCK = "model.layers.{}."
"""What the names of a block's parameters begin with."""


def parameter_shapes(config: DecoderConfig) -> Shapes:
    """All parameters of a network.

    Args:
        config: its sizes.

    Returns:
        The names and shapes of what `mf_models.networks.build` makes.
    """
    found = shapes_before_blocks(config)
    for layer in range(config.num_layers + config.further_tokens):
        found |= {BLOCK.format(layer) + name: shape for name, shape in block_shapes(config, layer).items()}
    return found | shapes_behind_blocks(config)


def shapes_before_blocks(config: DecoderConfig) -> Shapes:
    """The tables of tokens and of learned positions."""
    found: Shapes = {"model.tok_embeddings.embedding_weight": (config.vocab_size, config.hidden_size)}
    if config.learned_positions:
        found["model.position_embeddings.embedding_weight"] = (config.learned_positions, config.hidden_size)
    return found


def shapes_behind_blocks(config: DecoderConfig) -> Shapes:
    """The last norm, and the head where it has a weight of its own."""
    found = dict(_norm(config, "model.norm_out"))
    if config.num_labels is not None:
        found["score.weight"] = (config.num_labels, config.hidden_size)
    elif not config.tie_word_embeddings:
        found["lm_head.weight"] = (config.vocab_size, config.hidden_size)
    return found


def block_shapes(config: DecoderConfig, layer: int) -> Shapes:
    """The parameters of one block, by their names in it.

    Args:
        config: sizes of the network.
        layer: number of the block; those from `num_layers` on predict further tokens.
    """
    width, moe = config.hidden_size, config.moe_of(layer)
    found = dict(_norm(config, "attention_norm"))
    found |= _grouped_attention(config) if config.latent is None else _latent_attention(config, config.latent)
    found |= _norm(config, "attention_post_norm") if config.post_norms else {}
    found |= _norm(config, "ffn_norm")
    if moe is None:
        found |= _feed_forward("feed_forward", config.feed_forward, width, config.intermediate_size)
    else:
        found |= _experts(moe, width)
    found |= _norm(config, "ffn_post_norm") if config.post_norms else {}
    if layer >= config.num_layers:
        found |= dict(_norm(config, "enorm")) | dict(_norm(config, "hnorm"))
        found |= {"eh_proj.weight": (width, 2 * width)} | dict(_norm(config, "shared_head_norm"))
    return found


def _norm(config: DecoderConfig, name: str) -> Shapes:
    parts = {"rms": ("weight",), "shifted_rms": ("shift",), "layer": ("weight", "bias")}[config.norm]
    return {f"{name}.{part}": (config.hidden_size,) for part in parts}


def _linear(name: str, rows: int, columns: int, biased: bool = False) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (rows, columns)
    if biased:
        yield f"{name}.bias", (rows,)


def _grouped_attention(config: DecoderConfig) -> Shapes:
    width, head_dim = config.hidden_size, config.head_dim
    queries, keys = config.num_heads * head_dim, config.num_kv_heads * head_dim
    found = {
        **dict(_linear("attention.wq", queries, width, config.qkv_bias)),
        **dict(_linear("attention.wk", keys, width, config.qkv_bias)),
        **dict(_linear("attention.wv", keys, width, config.qkv_bias)),
        **dict(_linear("attention.wo", width, queries, config.output_bias)),
    }
    if config.query_key_norm:
        found |= {"attention.q_norm.weight": (head_dim,), "attention.k_norm.weight": (head_dim,)}
    return found


def _latent_attention(config: DecoderConfig, sizes: LatentConfig) -> Shapes:
    width, heads, rank = config.hidden_size, config.num_heads, sizes.query_rank
    if rank is None:
        queries: Shapes = {"attention.q_proj.weight": (heads * sizes.query_dim, width)}
    else:
        queries = {
            "attention.q2l_proj.weight": (rank, width),
            "attention.lq_norm.weight": (rank,),
            "attention.l2q_proj.weight": (heads * sizes.query_dim, rank),
        }
    return queries | {
        "attention.kv2l.weight": (sizes.rank + sizes.rotary_dim, width),
        "attention.lkv_norm.weight": (sizes.rank,),
        "attention.lkv2kv.weight": (heads * (sizes.plain_dim + sizes.value_dim), sizes.rank),
        "attention.wo.weight": (width, heads * sizes.value_dim),
    }


def _feed_forward(name: str, kind: str, width: int, inner: int) -> Shapes:
    if kind in UNGATED:
        return {**dict(_linear(f"{name}.w1", inner, width, True)), **dict(_linear(f"{name}.w2", width, inner, True))}
    return {
        f"{name}.w1.weight": (inner, width),
        f"{name}.w2.weight": (width, inner),
        f"{name}.w3.weight": (inner, width),
    }


def _experts(moe: MoeConfig, width: int) -> Shapes:
    cell = "feed_forward.routed_experts" if moe.shared_size else "feed_forward"
    count, inner = moe.num_experts, moe.expert_size
    # A cell's own parameters stand before those of the cells in it.
    found: Shapes = {f"{cell}.router.bias": (count,)} if moe.corrected else {}
    found[f"{cell}.router.dense.weight"] = (count, width)
    found |= {
        f"{cell}.ffn.w1.weight": (count, inner, width),
        f"{cell}.ffn.w2.weight": (count, width, inner),
        f"{cell}.ffn.w3.weight": (count, inner, width),
    }
    if moe.shared_size:
        found |= _feed_forward("feed_forward.shared_experts", "swiglu", width, moe.shared_size)
        found |= {"feed_forward.shared_experts_gate.weight": (1, width)} if moe.shared_gate else {}
    return found

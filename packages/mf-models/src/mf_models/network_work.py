"""What a family's network means for a planner: its parameters, products, and what a backward pass needs; host only."""

from mf_models.layers.config import UNGATED, DecoderConfig
from mf_models.model_config import ModelConfig
from mf_models.parameter_shapes import BLOCK, block_shapes, shapes_before_blocks, shapes_behind_blocks
from mf_models.registry import family_of
from mf_parallel.planner.network import BlockWork, NetworkWork


def network_work(config: ModelConfig) -> NetworkWork:
    """The network of a configuration.

    Args:
        config: a family's configuration.

    Raises:
        UserError: the family has no network yet.
    """
    decoder = family_of(config).decoder(config)
    return NetworkWork(
        before=shapes_before_blocks(decoder),
        blocks=tuple(_block(decoder, layer) for layer in range(decoder.num_layers + decoder.further_tokens)),
        behind=shapes_behind_blocks(decoder),
        block_name=BLOCK,
        hidden_size=decoder.hidden_size,
        vocab_size=decoder.vocab_size,
        row_length=config.seq_length,
        heads_used=1 + decoder.further_tokens,
    )


def _block(config: DecoderConfig, layer: int) -> BlockWork:
    """One block; an operation's result is counted where it is kept, that is at the operation that needs it.

    The residual stream enters norms, whose results enter the layers. Queries, keys and values enter attention, whose
    result is kept by it and by the projection behind it.
    """
    query_dim, value_dim, kv_heads, latents = _head_widths(config)
    heads, width = config.num_heads, config.hidden_size
    queries, keys_and_values = heads * query_dim, kv_heads * (query_dim + value_dim)
    feed_forward, product, chosen = _feed_forward_kept(config, layer)
    norms = 4 if config.post_norms else 2
    return BlockWork(
        shapes=tuple(block_shapes(config, layer).items()),
        score_width=heads * (query_dim + value_dim),
        key_width=keys_and_values,
        heads=heads,
        window=config.window(layer) if layer < config.num_layers else None,
        stream=norms * width,
        normed=2 * width + latents,
        inner=queries + keys_and_values + 2 * heads * value_dim + feed_forward,
        product=product,
        chosen=chosen,
    )


def _head_widths(config: DecoderConfig) -> tuple[int, int, int, int]:
    """Widths of a query and of a value head, key/value heads, and the width of what latents are kept."""
    sizes = config.latent
    if sizes is None:
        return config.head_dim, config.head_dim, config.num_kv_heads, 0
    latents = 2 * (sizes.rank + sizes.rotary_dim + (sizes.query_rank or 0))
    return sizes.query_dim, sizes.value_dim, config.num_heads, latents


def _feed_forward_kept(config: DecoderConfig, layer: int) -> tuple[int, int, int]:
    """Elements between the projections of a feed-forward, those behind its activation, and a token's experts."""
    moe = config.moe_of(layer)
    if moe is None:
        inner = config.intermediate_size
        return (2 if config.feed_forward in UNGATED else 3) * inner, inner, 0
    rows = moe.chosen * (moe.capacity_factor if moe.capacity_factor > 0 else 1.0)
    inner = round(rows * moe.expert_size) + moe.shared_size
    # Rows that travel to experts, and what comes back.
    return 3 * inner + round(2 * rows * config.hidden_size), inner, moe.chosen

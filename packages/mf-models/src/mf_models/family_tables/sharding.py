"""How the parameters of decoders of the Llama kind may be divided over the mesh axis `tp`."""

from collections.abc import Iterable

from mf_config.layout import Shard
from mf_models.model_config import DecoderSizes, ModelConfig
from mf_parallel.rules import Role, Rule, RuleTable

LAYER = "model.layers.{layer}"


def decoder_rules(
    config: DecoderSizes,
    *,
    norm: str = "weight",
    layer_norms: Iterable[str] = ("attention_norm", "ffn_norm"),
    head_norms: Iterable[str] = (),
    attention: Iterable[Rule] | None = None,
    feed_forward: Iterable[Rule] | None = None,
) -> RuleTable:
    """The rule of every parameter of one model.

    Args:
        config: the family's configuration.
        norm: name of a norm's parameter.
        layer_norms: the norms of a block's residual stream.
        head_norms: the norms of each query or key head.
        attention: the rules of the projections of attention; those of grouped attention where None.
        feed_forward: the rules of the feed-forwards; those of a gated one in every block where None.
    """
    if attention is None:
        attention = attention_rules(config.head_dim, config.num_heads // config.num_kv_heads, config.qkv_has_bias)
    return RuleTable(
        (
            Rule("model.tok_embeddings.embedding_weight", Shard(0, "tp"), Role.VOCABULARY),
            *attention,
            *(gated_rules(f"{LAYER}.feed_forward") if feed_forward is None else feed_forward),
            *(Rule(f"{LAYER}.{name}.{norm}") for name in layer_norms),
            *(Rule(f"{LAYER}.{name}.{norm}", role=Role.PER_HEAD) for name in head_norms),
            Rule(f"model.norm_out.{norm}"),
            *head_rules(config),
        )
    )


def head_rules(config: ModelConfig) -> list[Rule]:
    """The head, where it has a weight of its own; one of classes is whole on every rank."""
    if config.num_labels is not None:
        return [Rule("score.weight", role=Role.VOCABULARY)]
    return [] if config.tie_word_embeddings else [Rule("lm_head.weight", Shard(0, "tp"), Role.VOCABULARY)]


def attention_rules(head_dim: int, group: int, biased: bool) -> list[Rule]:
    """The projections of attention.

    A key/value head and the query heads that read it stay together, so attention needs no other rank's heads.

    Args:
        head_dim: width of a head.
        group: query heads of a key/value head.
        biased: whether query, key and value have biases.
    """
    attention, query_group = f"{LAYER}.attention", head_dim * group
    units = {"wq": query_group, "wk": head_dim, "wv": head_dim}
    kinds = ("weight", "bias") if biased else ("weight",)
    return [
        *(
            Rule(f"{attention}.{part}.{kind}", Shard(0, "tp", unit), Role.COLUMN)
            for part, unit in units.items()
            for kind in kinds
        ),
        Rule(f"{attention}.wo.weight", Shard(1, "tp", query_group), Role.ROW),
    ]


def gated_rules(cell: str) -> tuple[Rule, ...]:
    """A gated feed-forward; `cell` is what the names of its matrices begin with."""
    return (
        Rule(f"{cell}.w1.weight", Shard(0, "tp"), Role.COLUMN),
        Rule(f"{cell}.w2.weight", Shard(1, "tp"), Role.ROW),
        Rule(f"{cell}.w3.weight", Shard(0, "tp"), Role.COLUMN),
    )

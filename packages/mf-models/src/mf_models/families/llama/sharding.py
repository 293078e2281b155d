"""How Llama's parameters may be divided over the mesh axis `tp`, and what their layers do at the border."""

from mf_config.layout import Shard
from mf_models.families.llama.config import LlamaConfig
from mf_parallel.rules import Role, Rule, RuleTable


def rules(config: LlamaConfig) -> RuleTable:
    """The rule of every parameter of one model.

    A key/value head and the query heads that read it stay together, so attention needs no other rank's heads.
    """
    kv_head = config.head_dim
    query_group = kv_head * (config.num_heads // config.num_kv_heads)
    attention, feed_forward = "model.layers.{layer}.attention", "model.layers.{layer}.feed_forward"
    table = [
        Rule("model.tok_embeddings.embedding_weight", Shard(0, "tp"), Role.VOCABULARY),
        Rule("model.layers.{layer}.attention_norm.weight"),
        Rule(f"{attention}.wq.weight", Shard(0, "tp", query_group), Role.COLUMN),
        Rule(f"{attention}.wk.weight", Shard(0, "tp", kv_head), Role.COLUMN),
        Rule(f"{attention}.wv.weight", Shard(0, "tp", kv_head), Role.COLUMN),
        Rule(f"{attention}.wo.weight", Shard(1, "tp", query_group), Role.ROW),
        Rule("model.layers.{layer}.ffn_norm.weight"),
        Rule(f"{feed_forward}.w1.weight", Shard(0, "tp"), Role.COLUMN),
        Rule(f"{feed_forward}.w2.weight", Shard(1, "tp"), Role.ROW),
        Rule(f"{feed_forward}.w3.weight", Shard(0, "tp"), Role.COLUMN),
        Rule("model.norm_out.weight"),
    ]
    if not config.tie_word_embeddings:
        table.append(Rule("lm_head.weight", Shard(0, "tp"), Role.VOCABULARY))
    return RuleTable(tuple(table))

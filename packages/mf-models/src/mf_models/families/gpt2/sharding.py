"""How GPT-2's parameters may be divided over the mesh axis `tp`."""

from mf_config.layout import Shard
from mf_models.families.gpt2.config import GPT2Config
from mf_models.family_tables.sharding import LAYER, attention_rules, head_rules
from mf_parallel.rules import Role, Rule, RuleTable


def rules(config: GPT2Config) -> RuleTable:
    """The rule of every parameter of one model; a bias after a sum over ranks is whole on each of them."""
    feed_forward = f"{LAYER}.feed_forward"
    norms = [f"{LAYER}.{name}.{kind}" for name in ("attention_norm", "ffn_norm") for kind in ("weight", "bias")]
    return RuleTable(
        (
            Rule("model.tok_embeddings.embedding_weight", Shard(0, "tp"), Role.VOCABULARY),
            Rule("model.position_embeddings.embedding_weight", role=Role.VOCABULARY),
            *(Rule(name) for name in norms),
            *attention_rules(config.head_dim, 1, biased=True),
            Rule(f"{LAYER}.attention.wo.bias", role=Role.ROW),
            Rule(f"{feed_forward}.w1.weight", Shard(0, "tp"), Role.COLUMN),
            Rule(f"{feed_forward}.w1.bias", Shard(0, "tp"), Role.COLUMN),
            Rule(f"{feed_forward}.w2.weight", Shard(1, "tp"), Role.ROW),
            Rule(f"{feed_forward}.w2.bias", role=Role.ROW),
            Rule("model.norm_out.weight"),
            Rule("model.norm_out.bias"),
            *head_rules(config),
        )
    )

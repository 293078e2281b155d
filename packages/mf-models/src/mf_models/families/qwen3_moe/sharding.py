"""How the parameters of Qwen3 with experts may be divided over the mesh axes `ep` and `tp`."""

from mf_models.families.qwen3_moe.config import Qwen3MoeConfig
from mf_models.family_tables import experts
from mf_models.family_tables.names import HEAD_NORMS
from mf_models.family_tables.sharding import decoder_rules, gated_rules
from mf_parallel.rules import RuleTable


def rules(config: Qwen3MoeConfig) -> RuleTable:
    """The rule of every parameter of one model."""
    feed_forward = (
        *(gated_rules(experts.ALONE) if config.dense_layers else ()),
        *experts.routed_rules(experts.ALONE),
    )
    return decoder_rules(config, head_norms=HEAD_NORMS, feed_forward=feed_forward)

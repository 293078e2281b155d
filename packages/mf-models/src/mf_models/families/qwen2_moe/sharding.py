"""How Qwen2-MoE's parameters may be divided over the mesh axes `ep` and `tp`."""

from mf_models.families.qwen2_moe.config import Qwen2MoeConfig
from mf_models.family_tables import experts
from mf_models.family_tables.sharding import decoder_rules, gated_rules
from mf_parallel.rules import Rule, RuleTable


def rules(config: Qwen2MoeConfig) -> RuleTable:
    """The rule of every parameter of one model; the shared expert's gate is whole on every rank."""
    feed_forward = (
        *(gated_rules(experts.ALONE) if config.dense_layers else ()),
        *experts.routed_rules(experts.ROUTED),
        *gated_rules(f"{experts.ALONE}.shared_experts"),
        Rule(f"{experts.ALONE}.shared_experts_gate.weight"),
    )
    return decoder_rules(config, feed_forward=feed_forward)

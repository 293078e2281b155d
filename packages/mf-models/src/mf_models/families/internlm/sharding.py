"""How the parameters of InternLM's first generation may be divided over the mesh axis `tp`."""

from dataclasses import replace

from mf_models.families.internlm.config import InternLMConfig
from mf_models.family_tables.sharding import LAYER, decoder_rules
from mf_parallel.rules import Role, Rule, RuleTable


def rules(config: InternLMConfig) -> RuleTable:
    """The rule of every parameter of one model; a bias after a sum over ranks is whole on each of them."""
    table = decoder_rules(replace(config, qkv_has_bias=config.has_bias))
    return RuleTable((*table.rules, Rule(f"{LAYER}.attention.wo.bias", role=Role.ROW))) if config.has_bias else table

"""How InternLM2's parameters may be divided over the mesh axis `tp`."""

from mf_models.families.internlm2.config import InternLM2Config
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable


def rules(config: InternLM2Config) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config)

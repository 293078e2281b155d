"""How Kestrel's parameters may be divided among processes."""

from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable
from own_parts.families.kestrel.config import KestrelConfig


def rules(config: KestrelConfig) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config)

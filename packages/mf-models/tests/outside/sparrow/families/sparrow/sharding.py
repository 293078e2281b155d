"""How Sparrow's parameters may be divided over the mesh axis `tp`."""

from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable
from sparrow.families.sparrow.config import SparrowConfig


def rules(config: SparrowConfig) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config)

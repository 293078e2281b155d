"""How Baichuan 2's parameters may be divided over the mesh axis `tp`."""

from mf_models.families.baichuan2.config import Baichuan2Config
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable


def rules(config: Baichuan2Config) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config)

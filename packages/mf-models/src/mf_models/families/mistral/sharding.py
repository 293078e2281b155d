"""How Mistral's parameters may be divided over the mesh axis `tp`."""

from mf_models.families.mistral.config import MistralConfig
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable


def rules(config: MistralConfig) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config)

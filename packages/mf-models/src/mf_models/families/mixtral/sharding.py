"""How Mixtral's parameters may be divided over the mesh axes `ep` and `tp`."""

from mf_models.families.mixtral.config import MixtralConfig
from mf_models.family_tables import experts
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable


def rules(config: MixtralConfig) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config, feed_forward=experts.routed_rules(experts.ALONE))

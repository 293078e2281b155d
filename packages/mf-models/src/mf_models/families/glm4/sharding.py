"""How GLM-4's parameters may be divided over the mesh axis `tp`."""

from mf_models.families.glm4.config import Glm4Config
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable

_NORMS = ("attention_norm", "attention_post_norm", "ffn_norm", "ffn_post_norm")


def rules(config: Glm4Config) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config, layer_norms=_NORMS)

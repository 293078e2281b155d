"""How Gemma 2's parameters may be divided over the mesh axis `tp`."""

from mf_models.families.gemma2.config import Gemma2Config
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable

_NORMS = ("attention_norm", "attention_post_norm", "ffn_norm", "ffn_post_norm")


def rules(config: Gemma2Config) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config, norm="shift", layer_norms=_NORMS)

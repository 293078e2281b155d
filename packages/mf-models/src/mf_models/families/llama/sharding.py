"""How Llama's parameters may be divided over the mesh axis `tp`, and what their layers do at the border."""

from mf_models.families.llama.config import LlamaConfig
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable


def rules(config: LlamaConfig) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config)

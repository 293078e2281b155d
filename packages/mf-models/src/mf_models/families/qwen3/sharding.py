"""How Qwen3's parameters may be divided over the mesh axis `tp`."""

from mf_models.families.qwen3.config import Qwen3Config
from mf_models.family_tables.names import HEAD_NORMS
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable


def rules(config: Qwen3Config) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config, head_norms=HEAD_NORMS)

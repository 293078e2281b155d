"""How the parameters of Qwen's first generation may be divided over the mesh axis `tp`."""

from mf_models.families.qwen.config import QwenConfig
from mf_models.family_tables.sharding import decoder_rules
from mf_parallel.rules import RuleTable


def rules(config: QwenConfig) -> RuleTable:
    """The rule of every parameter of one model."""
    return decoder_rules(config)

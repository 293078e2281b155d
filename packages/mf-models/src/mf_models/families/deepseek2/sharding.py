"""How DeepSeek-V2's parameters may be divided over the mesh axes `ep` and `tp`."""

from mf_models.families.deepseek2.config import DeepseekV2Config
from mf_models.family_tables.latent import latent_rules
from mf_parallel.rules import RuleTable


def rules(config: DeepseekV2Config) -> RuleTable:
    """The rule of every parameter of one model."""
    return latent_rules(config)

"""How DeepSeek-V3's parameters may be divided over the mesh axes `ep` and `tp`."""

from mf_models.families.deepseek_v3.config import DeepseekV3Config
from mf_models.family_tables import experts
from mf_models.family_tables.latent import latent_rules
from mf_models.family_tables.sharding import LAYER
from mf_parallel.rules import Rule, RuleTable

_FURTHER = ("enorm", "hnorm", "eh_proj", "shared_head_norm")


def rules(config: DeepseekV3Config) -> RuleTable:
    """The rule of every parameter of one model; what joins hidden states and further tokens is whole on every rank."""
    further = (Rule(f"{LAYER}.{cell}.weight") for cell in _FURTHER) if config.mtp_depth else ()
    return latent_rules(config, (Rule(f"{experts.ROUTED}.router.bias"), *further))

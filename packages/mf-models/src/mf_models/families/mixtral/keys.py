"""Names of Mixtral's tensors: Llama's, and those of routers and experts."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.mixtral.config import MixtralConfig
from mf_models.family_tables import experts, names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: MixtralConfig) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    routed = experts.routed_rows(
        experts.ALONE,
        f"{names.LAYER}.block_sparse_moe",
        config.moe_config.expert_num,
        {"w1": "w1", "w2": "w2", "w3": "w3"},
    )
    return names.key_map(config, (*names.norm_rows(names.BLOCK_NORMS), *names.projection_rows(), *routed))


def forms(config: MixtralConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are MindFormers' too."""
    return {"mindspore": key_map(config).inverse}

"""Names of Phi-3's tensors: the file has query, key and value in one matrix, and gate and up in another."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.phi3.config import Phi3Config
from mf_models.family_tables import names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: Phi3Config) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    norms = names.norm_rows(names.BLOCK_NORMS)
    return names.key_map(config, (*norms, *names.fused_projection_rows(config), *names.fused_gated_rows(config)))


def forms(config: Phi3Config) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are like MindFormers' of Llama."""
    return {"mindspore": key_map(config).inverse}

"""Names of Baichuan 2's tensors: the file has query, key and value in one matrix."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.baichuan2.config import Baichuan2Config
from mf_models.family_tables import names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: Baichuan2Config) -> KeyMap:
    """Cell parameters to published names, of one model."""
    projections = names.fused_projection_rows(config, "W_pack")
    return names.key_map(config, (*names.norm_rows(names.BLOCK_NORMS), *projections, *names.gated_rows()))


def forms(config: Baichuan2Config) -> Mapping[str, KeyMap]:
    """Published names to those of the cells, which are MindFormers'; llama.cpp has not this head."""
    return {"mindspore": key_map(config).inverse}

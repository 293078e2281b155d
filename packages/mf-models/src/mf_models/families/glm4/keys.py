"""Names of GLM-4's tensors: the file has rotated elements in neighbouring pairs, and gate and up in one matrix."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.glm4.config import Glm4Config
from mf_models.family_tables import names

TIED, IGNORED = names.TIED, names.IGNORED

_NORMS = names.BLOCK_NORMS | {
    "attention_post_norm": "post_self_attn_layernorm",
    "ffn_post_norm": "post_mlp_layernorm",
}


def key_map(config: Glm4Config) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    projections = names.interleaved_projection_rows(config, config.rotary_dim)
    return names.key_map(config, (*names.norm_rows(_NORMS), *projections, *names.fused_gated_rows(config)))


def forms(config: Glm4Config) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are like MindFormers' of Llama."""
    return {"mindspore": key_map(config).inverse}

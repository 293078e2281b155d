"""Names of Gemma 2's tensors: Llama's, and those of four norms."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.gemma2.config import Gemma2Config
from mf_models.family_tables import names

TIED, IGNORED = names.TIED, names.IGNORED

_NORMS = {
    "attention_norm": "input_layernorm",
    "attention_post_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "ffn_post_norm": "post_feedforward_layernorm",
}


def key_map(config: Gemma2Config) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model; what a norm stores is added to 1."""
    norms = names.norm_rows(_NORMS, norm="shift")
    return names.key_map(config, (*norms, *names.projection_rows(), *names.gated_rows()), norm="shift")


def forms(config: Gemma2Config) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are like MindFormers' of Llama."""
    return {"mindspore": key_map(config).inverse}

"""Names of Mixtral's tensors: Llama's, and those of routers and experts."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.mixtral.config import MixtralConfig
from mf_models.family_tables import experts, gguf, names

TIED, IGNORED = names.TIED, names.IGNORED

_EXPERTS = f"{names.LAYER}.block_sparse_moe"
_GGUF = {"w1": "ffn_gate", "w2": "ffn_down", "w3": "ffn_up"}


def key_map(config: MixtralConfig) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    routed = experts.routed_rows(
        experts.ALONE,
        _EXPERTS,
        config.moe_config.expert_num,
        {"w1": "w1", "w2": "w2", "w3": "w3"},
    )
    return names.key_map(config, (*names.norm_rows(names.BLOCK_NORMS), *names.projection_rows(), *routed))


def forms(config: MixtralConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are MindFormers' too, and llama.cpp's of its `llama`."""
    feed_forward = gguf.expert_rows(_EXPERTS, config.moe_config.expert_num, _GGUF)
    others = gguf.gguf_names(config, interleaved=True, feed_forward=feed_forward)
    return {"mindspore": key_map(config).inverse, "gguf": others}

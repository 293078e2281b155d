"""Names of the tensors of Qwen3 with experts: Qwen3's, and those of routers and experts."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.qwen3_moe.config import Qwen3MoeConfig
from mf_models.family_tables import experts, gguf, names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: Qwen3MoeConfig) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    return names.key_map(
        config,
        (
            *names.norm_rows(names.BLOCK_NORMS | names.HEAD_NORMS),
            *names.projection_rows(),
            *(names.gated_rows() if config.dense_layers else ()),
            *experts.routed_rows(experts.ALONE, f"{names.LAYER}.mlp", config.moe_config.expert_num),
        ),
    )


def forms(config: Qwen3MoeConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of other programs."""
    routed = gguf.expert_rows(f"{names.LAYER}.mlp", config.moe_config.expert_num)
    feed_forward = (*(gguf.gated_rows() if config.dense_layers else ()), *routed)
    others = gguf.gguf_names(config, interleaved=False, query_key_norm=True, feed_forward=feed_forward)
    return {"mindspore": key_map(config).inverse, "gguf": others}

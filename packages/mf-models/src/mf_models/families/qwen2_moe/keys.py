"""Names of Qwen2-MoE's tensors: Qwen2's, and those of routers, experts and the shared expert."""

from collections.abc import Mapping

from mf_ckpt import KeyMap, Rename
from mf_models.families.qwen2_moe.config import Qwen2MoeConfig
from mf_models.family_tables import experts, names

TIED, IGNORED = names.TIED, names.IGNORED

_MLP = f"{names.LAYER}.mlp"


def key_map(config: Qwen2MoeConfig) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    biased = ("wq", "wk", "wv") if config.qkv_has_bias else ()
    return names.key_map(
        config,
        (
            *names.norm_rows(names.BLOCK_NORMS),
            *names.projection_rows(biased),
            *(names.gated_rows() if config.dense_layers else ()),
            *experts.routed_rows(experts.ROUTED, _MLP, config.moe_config.expert_num),
            *experts.shared_rows(f"{_MLP}.shared_expert"),
            Rename(f"{experts.ALONE}.shared_experts_gate.weight", f"{_MLP}.shared_expert_gate.weight"),
        ),
    )


def forms(config: Qwen2MoeConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are MindFormers' too."""
    return {"mindspore": key_map(config).inverse}

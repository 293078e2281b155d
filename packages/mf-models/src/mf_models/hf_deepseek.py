"""What the config.json files of DeepSeek-V2 and V3 have in common, there and back."""

from typing import Any

from mf_config.sections.moe import MoeSection
from mf_models.config_keys.dropless import dropless
from mf_models.config_keys.latent import LatentExpertKeys
from mf_models.hf_config import HfConfig
from mf_models.hf_decoder import decoder_to_hf, read_decoder

_ONE_METHOD = {"moe_layer_freq": 1, "attention_bias": False}
"""What config.json files of these families can't have otherwise."""

_IGNORED = ("auto_map", "ep_size")
"""Where remote code is, which never runs here; and over how many processes the experts were divided."""


def read_latent_decoder(hf: HfConfig) -> dict[str, Any]:
    """Take the keys of everything but the experts out of a config.json.

    Args:
        hf: the file.

    Returns:
        Values of the keys of `LatentExpertKeys`.
    """
    shared = {"extend_method": None, **read_decoder(hf)}
    # Each query head has a key/value head, whatever the file says.
    del shared["n_kv_heads"]
    plain, rotary = hf.count("qk_nope_head_dim"), hf.count("qk_rope_head_dim")
    hf.require("head_dim", (None, rotary), absent=None)
    hf.require("qk_head_dim", (None, plain + rotary), absent=None)
    hf.require("quantization_config", (None,), absent=None)
    for name, value in _ONE_METHOD.items():
        hf.require(name, (value,), absent=value)
    hf.ignore(_IGNORED)
    return {
        **shared,
        "max_position_embeddings": shared.pop("max_position_embedding"),
        "q_lora_rank": hf.optional_count("q_lora_rank", 1536),
        "kv_lora_rank": hf.count("kv_lora_rank"),
        "qk_nope_head_dim": plain,
        "qk_rope_head_dim": rotary,
        "v_head_dim": hf.count("v_head_dim"),
        "rope_interleave": hf.flag("rope_interleave", True),
        "seq_aux": hf.flag("seq_aux", False),
    }


def read_grouped_experts(hf: HfConfig, *, grouped: bool, normalized: bool) -> MoeSection:
    """Take the keys of the experts out of a config.json.

    Args:
        hf: the file.
        grouped: whether experts are chosen within the best groups.
        normalized: the family's default of `norm_topk_prob`.

    Returns:
        The section, without a limit of tokens for an expert.
    """
    groups, kept = hf.optional_count("n_group"), hf.optional_count("topk_group")
    is_limited = grouped and groups != 1
    return dropless(
        expert_num=hf.count("n_routed_experts"),
        num_experts_chosen=hf.count("num_experts_per_tok"),
        moe_intermediate_size=hf.count("moe_intermediate_size"),
        shared_expert_num=hf.whole("n_shared_experts", 0),
        first_k_dense_replace=hf.whole("first_k_dense_replace", 0),
        topk_method="group_limited_greedy" if is_limited else "greedy",
        n_group=groups if is_limited else None,
        topk_group=kept if is_limited else None,
        norm_topk_prob=hf.flag("norm_topk_prob", normalized),
        routed_scaling_factor=hf.number("routed_scaling_factor", 1.0),
        aux_loss_factor=hf.share("aux_loss_alpha", 0.0),
    )


def latent_decoder_to_hf(config: LatentExpertKeys, architecture: str, model_type: str) -> dict[str, Any]:
    """The keys that both families have in a config.json; arguments as of `decoder_to_hf`."""
    moe = config.moe_config
    shared = decoder_to_hf(config, architecture, model_type)
    # Hugging Face tools set it themselves, to the rotated width.
    del shared["head_dim"]
    return {
        **shared,
        **_ONE_METHOD,
        "aux_loss_alpha": moe.aux_loss_factor,
        "first_k_dense_replace": int(moe.first_k_dense_replace),
        "kv_lora_rank": config.kv_lora_rank,
        "moe_intermediate_size": moe.moe_intermediate_size,
        "n_group": moe.n_group or 1,
        "n_routed_experts": moe.expert_num,
        "n_shared_experts": moe.shared_expert_num,
        "norm_topk_prob": moe.norm_topk_prob,
        "num_experts_per_tok": moe.num_experts_chosen,
        "q_lora_rank": config.q_lora_rank,
        "qk_nope_head_dim": config.qk_nope_head_dim,
        "qk_rope_head_dim": config.qk_rope_head_dim,
        "rope_interleave": config.rope_interleave,
        "routed_scaling_factor": moe.routed_scaling_factor,
        "seq_aux": config.seq_aux,
        "topk_group": moe.topk_group or 1,
        "v_head_dim": config.v_head_dim,
    }

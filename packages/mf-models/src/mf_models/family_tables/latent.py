"""Names and placements of decoders with latent attention and experts: cells on the left, Hugging Face on the right."""

from collections.abc import Iterable
from typing import cast

from mf_ckpt.keymap.rows import Row
from mf_config.layout import Shard
from mf_models.config_keys.latent import LatentExpertKeys
from mf_models.family_tables import experts, names
from mf_models.family_tables.sharding import decoder_rules, gated_rules
from mf_models.model_config import DecoderSizes
from mf_parallel.rules import Role, Rule, RuleTable

_MLP = f"{names.LAYER}.mlp"
_ATTENTION = f"{names.LAYER}.attention"

_QUERIES = {"q2l_proj": "q_a_proj", "lq_norm": "q_a_layernorm", "l2q_proj": "q_b_proj"}
_DIRECT_QUERIES = {"q_proj": "q_proj"}
_KEYS_AND_VALUES = {"kv2l": "kv_a_proj_with_mqa", "lkv_norm": "kv_a_layernorm", "lkv2kv": "kv_b_proj", "wo": "o_proj"}


def block_rows(config: LatentExpertKeys) -> tuple[Row, ...]:
    """What the blocks hold."""
    attention = (_QUERIES if config.q_lora_rank else _DIRECT_QUERIES) | _KEYS_AND_VALUES
    return (
        *names.norm_rows(names.BLOCK_NORMS),
        *names.norm_rows({f"attention.{cell}": f"self_attn.{stored}" for cell, stored in attention.items()}),
        *(names.gated_rows() if config.dense_layers else ()),
        *experts.routed_rows(experts.ROUTED, _MLP, config.moe_config.expert_num),
        *(experts.shared_rows(f"{_MLP}.shared_experts") if config.shared_size else ()),
    )


def latent_rules(config: LatentExpertKeys, further: Iterable[Rule] = ()) -> RuleTable:
    """The rule of every parameter of one model.

    Args:
        config: the family's configuration.
        further: rules of what only one family's blocks hold.
    """
    feed_forward = (
        *(gated_rules(experts.ALONE) if config.dense_layers else ()),
        *experts.routed_rules(experts.ROUTED),
        *(gated_rules(f"{experts.ALONE}.shared_experts") if config.shared_size else ()),
        *further,
    )
    # These keys are the whole of a family's configuration but for the way it is stored.
    sizes = cast(DecoderSizes, config)
    return decoder_rules(sizes, attention=_attention_rules(config), feed_forward=feed_forward)


def _attention_rules(config: LatentExpertKeys) -> list[Rule]:
    """Heads are divided; what makes the latents of all heads is whole on each rank."""
    query = "l2q_proj" if config.q_lora_rank else "q_proj"
    latents = ["kv2l", "lkv_norm", *(("q2l_proj", "lq_norm") if config.q_lora_rank else ())]
    expanded = Shard(0, "tp", config.qk_nope_head_dim + config.v_head_dim)
    return [
        *(Rule(f"{_ATTENTION}.{cell}.weight", role=Role.PER_HEAD) for cell in latents),
        Rule(f"{_ATTENTION}.{query}.weight", Shard(0, "tp", config.head_dim), Role.COLUMN),
        Rule(f"{_ATTENTION}.lkv2kv.weight", expanded, Role.COLUMN),
        Rule(f"{_ATTENTION}.wo.weight", Shard(1, "tp", config.v_head_dim), Role.ROW),
    ]

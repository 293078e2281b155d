"""The sizes and kinds of DeepSeek-V2's decoder; imports no MindSpore."""

from mf_models.families.deepseek2.config import DeepseekV2Config
from mf_models.layers.config import DecoderConfig
from mf_models.layers.frequencies import Rotary
from mf_models.layers.latent_config import LatentConfig
from mf_models.layers.moe_config import MoeConfig


def decoder_config(config: DeepseekV2Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    section = config.moe_config
    moe = MoeConfig.of(
        section,
        expert_size=section.moe_intermediate_size,
        shared_size=config.shared_size,
        dense_layers=config.dense_layers,
        per_sequence=config.seq_aux,
        # The published code scales only weights that it does not normalise.
        scale=1.0 if section.norm_topk_prob else section.routed_scaling_factor,
    )
    return DecoderConfig.of(
        config,
        rotary=Rotary.of(config, config.qk_rope_head_dim),
        attention_scale=config.attention_scale,
        latent=LatentConfig.of(config),
        moe=moe,
    )

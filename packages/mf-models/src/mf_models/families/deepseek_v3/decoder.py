"""The sizes and kinds of DeepSeek-V3's decoder; imports no MindSpore."""

from mf_models.families.deepseek_v3.config import DeepseekV3Config
from mf_models.layers.config import DecoderConfig
from mf_models.layers.frequencies import Rotary
from mf_models.layers.latent_config import LatentConfig
from mf_models.layers.moe_config import MoeConfig


def decoder_config(config: DeepseekV3Config) -> DecoderConfig:
    """The decoder that a configuration describes."""
    section = config.moe_config
    moe = MoeConfig.of(
        section,
        expert_size=section.moe_intermediate_size,
        shared_size=config.shared_size,
        dense_layers=config.dense_layers,
        per_sequence=config.seq_aux,
        scores="sigmoid",
        corrected=True,
        best_of_group=2,
    )
    return DecoderConfig.of(
        config,
        rotary=Rotary.of(config, config.qk_rope_head_dim),
        attention_scale=config.attention_scale,
        latent=LatentConfig.of(config),
        moe=moe,
        further_tokens=config.mtp_depth,
        further_factor=config.mtp_loss_factor,
    )

"""DeepSeek-V3 and R1: latent attention, experts with a corrected choice, and blocks that predict further tokens."""

from mf_models.families.deepseek_v3.config import DeepseekV3Config

__all__ = ["DeepseekV3Config"]

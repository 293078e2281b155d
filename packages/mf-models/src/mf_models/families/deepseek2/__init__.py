"""DeepSeek-V2: latent attention, and experts that each token chooses within a few groups."""

from mf_models.families.deepseek2.config import DeepseekV2Config

__all__ = ["DeepseekV2Config"]

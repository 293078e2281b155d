"""GLM-4-0414: partly rotated heads, biased queries, keys and values, and norms before and after each part."""

from mf_models.families.glm4.config import Glm4Config

__all__ = ["Glm4Config"]

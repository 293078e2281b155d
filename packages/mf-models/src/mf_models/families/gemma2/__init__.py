"""Gemma 2: capped scores and logits, four norms a block, and a window in every other block."""

from mf_models.families.gemma2.config import Gemma2Config

__all__ = ["Gemma2Config"]

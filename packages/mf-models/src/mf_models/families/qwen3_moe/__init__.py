"""Qwen3 with experts: 30B-A3B and 235B-A22B."""

from mf_models.families.qwen3_moe.config import Qwen3MoeConfig

__all__ = ["Qwen3MoeConfig"]

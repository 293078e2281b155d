"""Qwen1.5-MoE and Qwen2-57B: Qwen2 with routed experts and a shared one."""

from mf_models.families.qwen2_moe.config import Qwen2MoeConfig

__all__ = ["Qwen2MoeConfig"]

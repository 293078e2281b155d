"""Qwen of the first generation: Llama with biases, and with ways to read texts longer than those of its training."""

from mf_models.families.qwen.config import QwenConfig

__all__ = ["QwenConfig"]

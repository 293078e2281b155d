"""Qwen3: Llama with heads of a width of their own, whose queries and keys are normed."""

from mf_models.families.qwen3.config import Qwen3Config

__all__ = ["Qwen3Config"]

"""Llama 2 and 3, Qwen2, and models of the same architecture."""

from mf_models.families.llama.config import LlamaConfig

__all__ = ["LlamaConfig"]

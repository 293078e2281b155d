"""Mistral: Llama with heads of any width, and a window over the last tokens."""

from mf_models.families.mistral.config import MistralConfig

__all__ = ["MistralConfig"]

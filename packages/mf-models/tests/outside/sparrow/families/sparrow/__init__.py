"""Sparrow: Llama with a bound on its logits."""

from sparrow.families.sparrow.config import SparrowConfig

__all__ = ["SparrowConfig"]

"""Kestrel: a Llama whose feed-forward is gated by GELU."""

from own_parts.families.kestrel.config import KestrelConfig

__all__ = ["KestrelConfig"]

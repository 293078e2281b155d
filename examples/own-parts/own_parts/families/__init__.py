"""Model families."""

from own_parts.families.kestrel import KestrelConfig

__all__ = ["KestrelConfig"]

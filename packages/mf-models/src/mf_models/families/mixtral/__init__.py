"""Mixtral: Mistral with experts in every block."""

from mf_models.families.mixtral.config import MixtralConfig

__all__ = ["MixtralConfig"]

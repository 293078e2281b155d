"""Phi-3: Llama, stored with fused projections, and with a window over the last tokens."""

from mf_models.families.phi3.config import Phi3Config

__all__ = ["Phi3Config"]

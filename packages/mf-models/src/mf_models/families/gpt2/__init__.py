"""GPT-2: learned positions, layer norms, biases everywhere."""

from mf_models.families.gpt2.config import GPT2Config

__all__ = ["GPT2Config"]

"""InternLM of the first generation: Llama with biases in all four projections of attention."""

from mf_models.families.internlm.config import InternLMConfig

__all__ = ["InternLMConfig"]

"""InternLM2: Llama, stored with the query, key and value of each group of heads in one matrix."""

from mf_models.families.internlm2.config import InternLM2Config

__all__ = ["InternLM2Config"]

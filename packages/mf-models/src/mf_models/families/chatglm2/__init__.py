"""ChatGLM2, ChatGLM3 and GLM-4 of 2024: half-rotated heads, few key/value groups, biased query, key and value."""

from mf_models.families.chatglm2.config import ChatGLM2Config

__all__ = ["ChatGLM2Config"]

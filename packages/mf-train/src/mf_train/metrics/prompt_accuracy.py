"""Choices between prompts by their likelihood."""

from dataclasses import dataclass

from mf_config.schema import component


@component("metric", "PromptAccMetric", pending="no choice is made between prompts")
@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAccMetric:
    """Share of rows in which the right one of several prompts is the likeliest."""

"""Exact matches and F1 of written answers."""

from dataclasses import dataclass

from mf_config.schema import component


@component("metric", "EmF1Metric", pending="an evaluation writes no text")
@dataclass(frozen=True, slots=True, kw_only=True)
class EmF1Metric:
    """Share of answers that match exactly, and F1 of the longest piece in common."""

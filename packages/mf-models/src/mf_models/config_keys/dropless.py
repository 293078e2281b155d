"""Experts that drop no token."""

from dataclasses import replace
from typing import Any

from mf_config.sections.moe import MoeSection


def dropless(**sizes: Any) -> MoeSection:
    """A section `moe_config` whose experts have room for every token, as in published models."""
    return replace(MoeSection(capacity_factor=0.0, aux_loss_factor=0.0), **sizes)

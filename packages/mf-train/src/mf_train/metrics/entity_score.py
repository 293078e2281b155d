"""Named entities."""

from dataclasses import dataclass

from mf_config.schema import component


@component("metric", "EntityScore", pending="single tokens are not classified")
@dataclass(frozen=True, slots=True, kw_only=True)
class EntityScore:
    """Precision, recall and F1 of the names that are found in texts."""

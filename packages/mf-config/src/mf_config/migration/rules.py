"""All rules of a migration, in the order in which they are applied."""

from mf_config.migration.later_forms import LATER_NAMES, LATER_SECTIONS
from mf_config.migration.older_forms import OLDER_FORMS
from mf_config.migration.rule import Rule

RULES: tuple[Rule, ...] = (*LATER_SECTIONS, *OLDER_FORMS, *LATER_NAMES)
"""Sections reach their place before the names within them are looked at."""

"""Rules that speak of several keys at once, one module a subject. A rule is a small function in its module's list."""

from mf_config.rules import batches, checkpoints, experts, observation, parallel, precision, run_mode, sizes
from mf_config.rules.rule import Checked, Finding, Rule, rule

RULES: tuple[Rule, ...] = (
    *run_mode.RULES,
    *checkpoints.RULES,
    *batches.RULES,
    *parallel.RULES,
    *sizes.RULES,
    *experts.RULES,
    *precision.RULES,
    *observation.RULES,
)
"""Every rule, in the order of their messages."""

__all__ = ["RULES", "Checked", "Finding", "Rule", "rule"]

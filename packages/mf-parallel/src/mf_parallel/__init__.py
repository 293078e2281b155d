"""Parallel plans for large language models, and the collectives that keep ranks equal.

The names here need no MindSpore; `mf_parallel.collectives` and `mf_parallel.gradients`, which communicate, do.
"""

from mf_parallel.launch import msrun_command, msrun_environment
from mf_parallel.plan import ParallelPlan, ParameterPlan, make_plan
from mf_parallel.process_group import ProcessGroup
from mf_parallel.rules import Role, Rule, RuleTable

__all__ = [
    "ParallelPlan",
    "ParameterPlan",
    "ProcessGroup",
    "Role",
    "Rule",
    "RuleTable",
    "make_plan",
    "msrun_command",
    "msrun_environment",
]

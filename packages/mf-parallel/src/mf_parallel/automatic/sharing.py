"""Which optimizer state MindSpore's parallel optimizer divides; needs no MindSpore."""

from dataclasses import replace

from mf_parallel.optimizer_sharding import AXIS
from mf_parallel.plan import ParallelPlan, ParameterPlan

_OUTER = ("pp", "dp", AXIS)
"""Axes that need not divide a parameter whose copies MindSpore finds along `dp`."""


def compiled_sharing(plan: ParallelPlan) -> ParallelPlan:
    """The plan of the optimizer's state as the compiler can execute it.

    MindSpore lets all ranks share a parameter that hold the same piece of it, along whatever axis. So what is whole
    along a further axis, such as the norms of a network whose matrices are divided, is kept whole.

    Args:
        plan: see `mf_parallel.optimizer_sharding.shard_optimizer`.

    Returns:
        The same plan with fewer parameters divided along `zero`.
    """
    further = {axis for axis in plan.mesh.axes if axis not in _OUTER and plan.mesh.degree(axis) > 1}
    parameters = {
        name: parameter if further <= parameter.axes else _without_sharing(parameter)
        for name, parameter in plan.parameters.items()
    }
    return replace(plan, parameters=parameters)


def _without_sharing(parameter: ParameterPlan) -> ParameterPlan:
    layout = parameter.layout
    kept = tuple(placed for placed in layout.placements if getattr(placed, "axis", None) != AXIS)
    return replace(parameter, layout=replace(layout, placements=kept))

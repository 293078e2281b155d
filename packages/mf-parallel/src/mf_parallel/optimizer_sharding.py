"""Optimizer state that is divided among ranks which hold the same weights. Needs no device.

Source: Rajbhandari et al. 2020, ZeRO, section 5.1.
"""

import math
from dataclasses import replace

from mf_config.layout import Mesh, Shard, TensorLayout
from mf_config.problems import UserError, name_values
from mf_parallel.plan import ParallelPlan, ParameterPlan

AXIS = "zero"
"""The mesh axis that divides the state: the inner part of `dp`."""


def shard_optimizer(plan: ParallelPlan, ranks: int, threshold_bytes: int) -> ParallelPlan:
    """The layout of the optimizer's state where neighbouring data-parallel ranks share one copy.

    Args:
        plan: the layout of the weights.
        ranks: how many share a copy; -1 for all of `dp`.
        threshold_bytes: state of weights whose pieces are smaller stays whole, as does what the ranks can't divide
            equally.

    Returns:
        A plan with the same ranks on a mesh in which `dp` is split into `dp` and `zero`.

    Raises:
        UserError: `dp` can't be split so.
    """
    replicas = plan.mesh.degree("dp")
    ranks = replicas if ranks == -1 else ranks
    if replicas % ranks:
        allowed = name_values(degree for degree in range(1, replicas + 1) if replicas % degree == 0)
        raise UserError(
            f"parallel.parallel_optimizer_config.optimizer_weight_shard_size: {ranks} ranks can't share a copy, for dp "
            f"is {replicas}. Allowed: {allowed}, or -1 for all."
        )
    mesh = _split(plan.mesh, ranks)
    parameters = {}
    for name, parameter in plan.parameters.items():
        divided = plan.bytes_per_rank(name) >= threshold_bytes and _is_even(plan, parameter, ranks)
        parameters[name] = replace(parameter, layout=_divided(parameter.layout)) if divided else parameter
    return replace(plan, mesh=mesh, parameters=parameters)


def _split(mesh: Mesh, ranks: int) -> Mesh:
    place = mesh.axes.index("dp")
    degrees = (mesh.degree("dp") // ranks, ranks)
    return Mesh(
        (*mesh.axes[: place + 1], AXIS, *mesh.axes[place + 1 :]),
        (*mesh.degrees[:place], *degrees, *mesh.degrees[place + 1 :]),
    )


def _is_even(plan: ParallelPlan, parameter: ParameterPlan, ranks: int) -> bool:
    rows = parameter.layout.local_shape(plan.mesh, 0)[:1]
    return ranks > 1 and math.prod(rows) % ranks == 0 and "dp" not in parameter.axes


def _divided(layout: TensorLayout) -> TensorLayout:
    return TensorLayout(layout.shape, (*layout.placements, Shard(0, AXIS)), layout.padded_shape)

"""Whether the number of processes fits a run configuration.

It needs no MindSpore, so the question is asked before any process is started.
"""

import math

from mf_config import RunConfig, UserError

_DEGREES = ("model_parallel", "context_parallel", "pipeline_stage")
"""The keys of parallel_config that, with data_parallel, multiply to the number of processes."""


def check_process_count(config: RunConfig, size: int) -> None:
    """Refuse a number of processes that the configuration does not ask for.

    Args:
        config: the run configuration.
        size: how many processes are started, from 1.
    Raises:
        UserError: it does not fit.
    """
    started = f"{size} process{'es are' if size > 1 else ' is'} started"
    if size > 1 and not config.use_parallel:
        raise UserError(f"use_parallel: False, but {started}. Allowed: True.")
    if not config.use_parallel:
        return
    degree, others = config.parallel_config.data_parallel, _other_degrees(config)
    product = math.prod(others.values())
    replicas, rest = divmod(size, product)
    if not rest and degree in (1, replicas):
        return
    made = "".join(f" x {name} {other}" for name, other in others.items())
    stands_for = "all that the others leave" if others else "all processes"
    fitting = "" if rest else f", or data_parallel: {replicas} (1 stands for {stands_for})"
    raise UserError(
        f"parallel_config.data_parallel: {degree}{made}, but {started}. Allowed: --workers {degree * product}{fitting}."
    )


def other_degree(config: RunConfig, name: str) -> int:
    """A degree of parallel_config beside data_parallel, as it counts in a run."""
    return _other_degrees(config).get(name, 1) if config.use_parallel else 1


def replicas_of(config: RunConfig, size: int) -> int:
    """How many groups of processes read different rows.

    Args:
        config: the run configuration.
        size: a number of processes that fits it.
    """
    return size // math.prod(_other_degrees(config).values()) if config.use_parallel else 1


def _other_degrees(config: RunConfig) -> dict[str, int]:
    """The degrees beside data_parallel that are above 1; in DATA_PARALLEL mode they don't count."""
    if config.parallel.mode in ("DATA_PARALLEL", "STAND_ALONE"):
        return {}
    degrees = {name: getattr(config.parallel_config, name) for name in _DEGREES}
    return {name: degree for name, degree in degrees.items() if degree > 1}

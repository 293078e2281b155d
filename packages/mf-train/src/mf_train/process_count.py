"""Whether the number of processes fits a run configuration.

It needs no MindSpore, so the question is asked before any process is started.
"""

from mf_config import RunConfig, UserError


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
    degree = config.parallel_config.data_parallel
    if config.use_parallel and degree not in (1, size):
        raise UserError(
            f"parallel_config.data_parallel: {degree}, but {started}. "
            f"Allowed: --workers {degree}, or data_parallel: {size} (1 stands for all processes)."
        )

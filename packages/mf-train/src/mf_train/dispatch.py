"""Finds what carries out a run mode: an entry point of group `mf.run_modes`, named after the mode.

A package that is not installed has none, so `predict` needs mf-infer beside mf-train, without an import between them.
"""

from collections.abc import Callable
from importlib.metadata import entry_points

from mf_config import RunConfig, UserError
from mf_train.options import RunOptions

_GROUP = "mf.run_modes"
_PACKAGES = {"predict": "mf-infer"}
"""Where a mode comes from that mf-train itself does not have."""

RunMode = Callable[[RunConfig, RunOptions], int]
"""Carries out a configuration and returns the exit status."""


def run_mode(name: str) -> RunMode:
    """What carries out a run mode.

    Args:
        name: value of `run_mode`.
    Raises:
        UserError: no installed package does this; names the one to install.
    """
    found = list(entry_points(group=_GROUP, name=name))
    if not found:
        package = _PACKAGES.get(name, "a package that declares it")
        raise UserError(f"run_mode {name}: not installed. Allowed: the modes of installed packages; install {package}.")
    loaded: RunMode = found[0].load()
    return loaded

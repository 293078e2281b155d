"""What a run runs on, for whoever reads its records later."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_DISTRIBUTIONS = ("mf-train", "mf-models", "mf-data", "mf-ckpt", "mf-parallel", "mf-config", "mindspore", "numpy")


def environment(device: str, processes: int) -> dict[str, str]:
    """Versions and machine, name to value.

    Args:
        device: the run's device target.
        processes: how many processes it has.
    """
    return {
        "device": device,
        "processes": str(processes),
        "processor": _processor(),
        "usable cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: _version(name) for name in _DISTRIBUTIONS},
    }


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """The processor's name as Linux tells it; elsewhere what Python knows."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()

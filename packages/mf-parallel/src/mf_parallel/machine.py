"""The machine under the processes: its processor, and where the user's files may be kept that can be made anew."""

import os
import platform
from pathlib import Path


def user_cache(part: str) -> Path:
    """A folder below `$XDG_CACHE_HOME/mf`, or `~/.cache/mf`; it need not be there yet.

    Args:
        part: name of the folder.
    Returns:
        Its absolute path.
    """
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (root / "mf" / part).absolute()


def processor() -> str:
    """Name and abilities of the processor."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    telling = ("model name", "flags", "CPU part", "Features")
    return "\n".join([platform.machine(), *sorted({line for line in lines if line.startswith(telling)})])

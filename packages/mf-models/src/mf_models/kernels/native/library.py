"""The library of the C++ sources."""

from functools import lru_cache
from pathlib import Path

from mf_parallel.compiled import compiled_library

_SOURCES = Path(__file__).parent / "source"


@lru_cache(maxsize=1)
def native_library() -> Path | None:
    """The compiled operators, see `mf_parallel.compiled.compiled_library`; the first call on a machine compiles them.

    Returns:
        The library's absolute path; None where they are switched off, or can't be compiled.
    """
    return compiled_library(_SOURCES, "kernels")

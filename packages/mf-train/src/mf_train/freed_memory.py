"""Memory that was freed and that the C library keeps for what may come."""

import ctypes


def give_back_freed_memory() -> None:
    """Hand it to the system. Compiling a step frees much of what it took, in pieces that no tensor fits into.

    The C libraries of some systems can't do it; there nothing happens.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

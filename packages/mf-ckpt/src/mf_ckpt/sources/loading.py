"""Reads whole sources into memory at once, for programs that need every tensor anyway."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from mf_ckpt.dtypes import ELEMENT_TYPES, Array
from mf_ckpt.sources.source import Source, storage

_THREADS = min(4, os.cpu_count() or 1)
"""One thread rarely uses all of a disk, or of the memory's bandwidth."""


def load(source: Source) -> dict[str, Array]:
    """Copy all tensors of a source into memory, several at a time.

    Args:
        source: an open checkpoint, its `optimizer`, or any other source.

    Returns:
        Name to values as `Source.read` gives them, but in memory of their own: they may be changed, and the files may
        go.
    """
    names = list(source)
    with ThreadPoolExecutor(_THREADS) as pool:
        return dict(zip(names, pool.map(partial(_copy, source), names), strict=True))


def _copy(source: Source, name: str) -> Array:
    info = source.info(name)
    bits: Array = np.empty(info.shape, storage(info))
    source.raw_into(name, (), bits)
    widen = ELEMENT_TYPES[info.dtype].widen
    return bits if widen is None else widen(bits)

"""Settings of the property tests, and a source that counts what is read from it."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings

from mf_ckpt.dtypes import Array
from mf_ckpt.sources.source import Slices, Source, bounded
from mf_ckpt.tensor_info import TensorInfo

# A busy machine is no defect: examples that write files have no deadline.
settings.register_profile("mf-ckpt", deadline=None)
settings.load_profile("mf-ckpt")


class CountingSource(Source):
    """Passes on another source, and counts for each element how often it was read."""

    def __init__(self, source: Source):
        self._source = source
        self.counts = {name: np.zeros(source.info(name).shape, np.int64) for name in source}

    def __iter__(self) -> Iterator[str]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)

    def info(self, name: str) -> TensorInfo:
        return self._source.info(name)

    def raw(self, name: str, slices: Slices = ()) -> Array:
        self.counts[name][bounded(name, slices, self.info(name).shape)] += 1
        return self._source.raw(name, slices)

    def read_once(self) -> bool:
        """Whether every element was read exactly once."""
        return all((counts == 1).all() for counts in self.counts.values())


@pytest.fixture(scope="session")
def counting() -> type[CountingSource]:
    """The class of counting sources."""
    return CountingSource

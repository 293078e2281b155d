"""Several sources as one."""

import numpy as np
import pytest

from mf_ckpt.sources.arrays import ArraySource
from mf_ckpt.sources.combined import CombinedSource
from mf_ckpt.sources.source import TensorNotFoundError

LOWER = ArraySource({"a": np.zeros(2, np.float32), "b": np.zeros(2, np.float32)})
UPPER = ArraySource({"b": np.array([0x3F80], np.uint16), "c": np.ones(3, np.float16)}, {"b": "BF16"})


def test_the_upper_source_goes_first():
    union = CombinedSource.overlay(LOWER, UPPER, "both")
    assert list(union) == ["a", "b", "c"]
    assert union.info("a") == LOWER.info("a") and union.info("b") == UPPER.info("b")
    assert union["b"].tolist() == [1] and union.raw("b").tolist() == [0x3F80]
    assert union.read("c", (slice(1, 3),)).tolist() == [1, 1]
    out = np.empty(2, np.float32)
    union.raw_into("a", (), out)
    assert out.tolist() == [0, 0]


def test_a_missing_name_is_reported_with_the_nearest():
    with pytest.raises(TensorNotFoundError, match=r"both: no tensor 'weigth' among 1\. Did you mean weight"):
        CombinedSource({"weight": LOWER}, "both").raw("weigth")

import pytest

from mf_ckpt import TensorInfo
from mf_ckpt.sources.declared import DeclaredSource


def test_declared_tensors_have_a_shape_and_no_values() -> None:
    source = DeclaredSource({"norm": TensorInfo("F32", (8,))}, "model")
    assert (list(source), source.info("norm").shape) == (["norm"], (8,))
    with pytest.raises(ValueError, match="'norm' is declared only"):
        source.read("norm")

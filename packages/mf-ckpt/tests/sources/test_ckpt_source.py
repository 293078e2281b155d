"""The interface of sources: slices, arrays in memory, and reading parts of files without keeping them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from mf_ckpt import ArraySource
from mf_ckpt.formats.safetensors_file.tensors import open_file
from mf_ckpt.sources.source import TensorNotFoundError, bounded, extents, overlap, part, shifted

SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def shape_and_slices(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[slice, ...]]:
    shape = draw(SHAPES)
    ends = [sorted((draw(st.integers(0, size)), draw(st.integers(0, size)))) for size in shape]
    return shape, tuple(slice(start, stop) for start, stop in ends)


def test_slices_are_written_out_for_every_dimension():
    assert bounded("a", (slice(1, None), slice(None, 2)), (3, 4, 5)) == (slice(1, 3), slice(0, 2), slice(0, 5))
    assert bounded("a", (), ()) == ()


@pytest.mark.parametrize(
    "slices", [(slice(0, 4),), (slice(-1, 2),), (slice(2, 1),), (slice(0, 3, 2),), (slice(0),) * 3]
)
def test_slices_outside_a_tensor_are_refused(slices: tuple[slice, ...]):
    with pytest.raises(ValueError, match="don't lie inside shape"):
        bounded("a", slices, (3, 3))


def test_boxes_overlap_and_move():
    one, other = (slice(0, 4), slice(2, 6)), (slice(3, 8), slice(0, 3))
    assert overlap(one, other) == (slice(3, 4), slice(2, 3))
    assert overlap(one, (slice(4, 8), slice(2, 6))) is None
    assert shifted(one, (-1, 2)) == (slice(1, 5), slice(0, 4))
    assert extents(one) == (4, 4)


def test_a_part_of_an_array_without_dimensions_can_be_written_to():
    array = np.zeros((), np.float32)
    part(array, ())[...] = 3
    assert array == 3


@given(shape_and_slices(), st.booleans())
def test_a_file_gives_the_parts_that_numpy_gives(tmp_path_factory: pytest.TempPathFactory, case, strided: bool):
    shape, slices = case
    array = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    path = tmp_path_factory.mktemp("parts") / "a.safetensors"
    # One odd byte before it: the data lies at an address that the type doesn't divide.
    save_file({"b": array, "a": np.ones(1, np.uint8)}, path)
    source = open_file(path)
    expected = array[slices]
    assert np.array_equal(source.raw("b", slices), expected)
    out = np.zeros((*expected.shape, 2), np.int32)[..., 0] if strided else np.zeros(expected.shape, np.int32)
    source.raw_into("b", slices, out)
    assert np.array_equal(out, expected)


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path):
    path = tmp_path / "a.safetensors"
    save_file({"a": np.ones((8, 8), np.float32)}, path)
    source = open_file(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 64)
    with pytest.raises(ValueError, match="has become shorter"):
        source.raw_into("a", (), np.empty((8, 8), np.float32))


def test_arrays_are_a_source():
    source = ArraySource({"a": np.float32([1.00390625, -2]), "n": np.arange(6).reshape(2, 3)}, {"a": "BF16"})
    assert (list(source), len(source), "a" in source, "b" in source) == (["a", "n"], 2, True, False)
    assert source.info("a").dtype == "BF16"
    assert source["a"].tolist() == [1.0, -2.0]
    assert source.raw("n", (slice(1, 2),)).tolist() == [[3, 4, 5]]
    with pytest.raises(TensorNotFoundError, match="no tensor 'm' among 2"):
        source.info("m")

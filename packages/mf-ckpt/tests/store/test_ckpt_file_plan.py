"""Files that are planned before they are written."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from mf_ckpt import ArraySource
from mf_ckpt.sources.blocks import parts
from mf_ckpt.store.file_plan import Series

ARRAYS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.zeros((0, 2), np.float32), "c": np.arange(3.0)}


def content(series: Series) -> dict[str, bytes]:
    files, _ = series.plan()
    found = {}
    for file in files:
        blocks = [(block.begin, block.nbytes, np.empty(block.nbytes, np.uint8)) for block in file.blocks()]
        for block, (_, _, out) in zip(file.blocks(), blocks, strict=True):
            block.fill(out)
        assert [begin for begin, _, _ in blocks] == list(np.cumsum([0, *(nbytes for _, nbytes, _ in blocks)])[:-1])
        found[file.name] = b"".join(out.tobytes() for _, _, out in blocks)
        assert len(found[file.name]) == file.size
    return found


@given(st.lists(st.integers(0, 5), max_size=4).map(tuple), st.integers(1, 9))
def test_parts_follow_one_another_in_the_bytes(shape: tuple[int, ...], most: int):
    array = np.arange(int(np.prod(shape))).reshape(shape)
    found = list(parts(shape, most))
    assert [x for slices, _ in found for x in array[slices].reshape(-1)] == array.reshape(-1).tolist()
    assert all(0 < count <= most and array[slices].size == count for slices, count in found)


def test_a_file_is_the_one_that_the_reference_implementation_writes():
    ordered = {"c": ARRAYS["c"], "b": ARRAYS["b"]}
    for metadata in ({"format": "pt"}, {}):
        series = Series("model", ArraySource(ordered), 10**9, metadata, one_file_name="model.safetensors")
        assert content(series) == {"model.safetensors": save(ordered, metadata or None)}


def test_a_new_file_starts_where_one_is_full_or_is_told_to():
    source = ArraySource({name: np.zeros(4, np.float32) for name in "abcde"})
    files, indexes = Series("model", source, 40, {}, {"note": "kept"}, breaks={"e"}).plan()
    assert [list(file.tensors) for file in files] == [["a", "b"], ["c", "d"], ["e"]]
    assert [file.name for file in files] == [f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]
    (index,) = indexes.values()
    assert b'"total_size": 80' in index
    assert b'"note": "kept"' in index
    large = ArraySource({"a": np.zeros(99), "b": np.zeros(1)})
    assert [list(file.tensors) for file in Series("model", large, 40, {}).plan()[0]] == [["a"], ["b"]]


def test_no_tensors_make_an_empty_index():
    files, indexes = Series("model", ArraySource({}), 40, {}).plan()
    assert files == []
    assert list(indexes) == ["model.safetensors.index.json"]

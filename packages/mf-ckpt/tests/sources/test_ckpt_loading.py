"""Everything in memory at once equals everything read one by one."""

import shutil
from pathlib import Path

import numpy as np

from mf_ckpt import Writer, load
from mf_ckpt import open as open_checkpoint
from mf_ckpt.sources.arrays import ArraySource

DATA = Path(__file__).parents[1] / "data"


def test_all_element_types_come_as_read_gives_them():
    source = open_checkpoint(DATA / "dtypes" / "dtypes.safetensors")
    loaded = load(source)
    assert list(loaded) == list(source)
    for name, array in loaded.items():
        assert (array.dtype, array.shape) == (source[name].dtype, source[name].shape)
        assert array.tobytes() == source[name].tobytes()


def test_what_was_loaded_is_the_callers_own(tmp_path: Path):
    with Writer(tmp_path / "c", shard_bytes=100) as writer:
        for number in range(20):
            writer.add(str(number), np.full((3, 4), number, np.float32))
        writer.add_optimizer("m", np.float32([5]))
    reader = open_checkpoint(tmp_path / "c")
    loaded, optimizer = load(reader), load(reader.optimizer)
    shutil.rmtree(tmp_path / "c")
    for number in range(20):
        assert loaded[str(number)].tolist() == [[number] * 4] * 3
        loaded[str(number)] += 1
    assert optimizer["m"].tolist() == [5]


def test_a_source_that_has_no_file_behind_it():
    own = np.arange(6).reshape(2, 3)
    loaded = load(ArraySource({"a": own}))
    loaded["a"][0, 0] = 7
    assert own[0, 0] == 0
    assert load(ArraySource({})) == {}

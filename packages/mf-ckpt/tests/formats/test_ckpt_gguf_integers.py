"""Blocks of GGUF files taken apart, against the values that the `gguf` package expands them to."""

import gguf
import numpy as np
import pytest

from mf_ckpt.formats.gguf_file import BlockPart, open_gguf
from mf_ckpt.tensor_info import TensorInfo

PARTS = ("integers", "scales", "offsets")
RANGES = {"Q8_0": (-128, 127), "Q4_0": (-8, 7), "Q4_1": (0, 15)}
ROWS, COLUMNS = 5, 96


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    """Tensors with random values in every type that can be taken apart, and of one that can't."""
    chance = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("parts") / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for dtype in RANGES:
        values = chance.standard_normal((ROWS, COLUMNS)).astype(np.float32) + np.float32(0.5)
        kind = gguf.GGMLQuantizationType[dtype]
        writer.add_tensor(dtype, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.add_tensor("F32", np.ones((ROWS, COLUMNS), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return open_gguf(path)


def test_each_part_has_the_tensors_that_consist_of_it(tensors):
    parts = {part: BlockPart(tensors, part) for part in PARTS}
    assert {part: list(source) for part, source in parts.items()} == {
        "integers": ["Q8_0", "Q4_0", "Q4_1"],
        "scales": ["Q8_0", "Q4_0", "Q4_1"],
        "offsets": ["Q4_1"],
    }
    assert parts["integers"].info("Q4_0") == TensorInfo("I8", (ROWS, COLUMNS))
    assert parts["offsets"].info("Q4_1") == TensorInfo("F16", (ROWS, COLUMNS // 32))


@pytest.mark.parametrize("dtype", RANGES)
def test_the_parts_make_the_values(tensors, dtype):
    integers, scales = (BlockPart(tensors, part)[dtype] for part in PARTS[:2])
    assert (integers.dtype, scales.dtype) == (np.int8, np.float16)
    least, most = RANGES[dtype]
    assert least <= integers.min() < integers.max() <= most
    offsets = BlockPart(tensors, "offsets").get(dtype, np.zeros_like(scales))
    found = integers * scales.astype(np.float32).repeat(32, 1) + offsets.astype(np.float32).repeat(32, 1)
    np.testing.assert_array_equal(found, tensors[dtype])


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_a_part_is_read(tensors, part):
    source = BlockPart(tensors, part)
    slices = (slice(1, 4), slice(1, 3))
    np.testing.assert_array_equal(source.read("Q4_1", slices), source["Q4_1"][1:4, 1:3])
    with pytest.raises(ValueError, match="don't lie inside shape"):
        source.read("Q4_1", (slice(0, ROWS + 1),))

"""Reading GGUF files: written with the `gguf` package, expanded values by the formulas of ggml-quants.c."""

import struct
import sys
import tracemalloc

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.formats.gguf_file.blocks import BLOCKS, QuantizedInfo
from mf_ckpt.formats.gguf_file.source import is_gguf, open_gguf
from mf_ckpt.sources.renamed import RenamedSource
from mf_ckpt.tensor_info import TensorInfo
from mf_config.problems import UserError

RANDOM = np.random.default_rng(0)


def scale(block, at):
    return np.float64(np.frombuffer(bytes(block[at : at + 2]), "<f2")[0])


def nibbles(quants):
    """The lower halves of all bytes, then the upper ones."""
    return np.concatenate([quants & 15, quants >> 4]).astype(np.float64)


def q8_0(block):
    return scale(block, 0) * block[2:].view(np.int8).astype(np.float64)


def q4_0(block):
    return scale(block, 0) * (nibbles(block[2:]) - 8)


def q4_1(block):
    return scale(block, 0) * nibbles(block[4:]) + scale(block, 2)


def q4_k(block):
    packed, values = block[4:16].astype(int), []
    for group in range(8):
        if group < 4:
            multiplier, minimum = packed[group] & 63, packed[group + 4] & 63
        else:
            multiplier = packed[group + 4] & 15 | packed[group - 4] >> 6 << 4
            minimum = packed[group + 4] >> 4 | packed[group] >> 6 << 4
        quants = block[16 + group // 2 * 32 :][:32] >> (4 * (group % 2)) & 15
        values.append(scale(block, 0) * multiplier * quants - scale(block, 2) * minimum)
    return np.concatenate(values)


def q6_k(block):
    low, high, scales = block[:128].astype(int), block[128:192].astype(int), block[192:208].view(np.int8)
    values = np.empty(256)
    for index in range(256):
        half, row, lane = index // 128, index % 128 // 32, index % 32
        lower = low[64 * half + 32 * (row % 2) + lane] >> (4 * (row // 2)) & 15
        upper = high[32 * half + lane] >> (2 * row) & 3
        values[index] = scale(block, 208) * scales[8 * half + 2 * row + lane // 16] * ((lower | upper << 4) - 32)
    return values


FORMULAS = {"Q8_0": q8_0, "Q4_0": q4_0, "Q4_1": q4_1, "Q4_K": q4_k, "Q6_K": q6_k}


def random_blocks(dtype, rows, count):
    """Blocks of random bits with scales that are plain numbers."""
    block = BLOCKS[dtype]
    blocks = RANDOM.integers(0, 256, (rows, count, block.nbytes), np.uint8)
    for at in {"Q4_1": (0, 2), "Q4_K": (0, 2), "Q6_K": (208,)}.get(dtype, (0,)):
        blocks[..., at : at + 2] = RANDOM.normal(size=(rows, count, 1)).astype("<f2").view(np.uint8)
    return blocks


def write(path, tensors=(), **metadata):
    writer = gguf.GGUFWriter(path, "llama")
    for key, value in metadata.items():
        adders = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
        (writer.add_array if isinstance(value, list) else adders[type(value)])(key.replace("__", "."), value)
    for name, array, kind in tensors:
        writer.add_tensor(name, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("dtype", FORMULAS)
def test_quantised_tensors_are_expanded_as_ggml_does(tmp_path, dtype):
    blocks = random_blocks(dtype, rows=3, count=2)
    write(tmp_path / "m.gguf", [("w", blocks.reshape(3, -1), gguf.GGMLQuantizationType[dtype])])
    tensors = open_gguf(tmp_path / "m.gguf")
    values = 2 * BLOCKS[dtype].values
    assert tensors.info("w") == QuantizedInfo(dtype, (3, values))
    assert tensors.info("w").nbytes == blocks.nbytes
    expected = np.array([[FORMULAS[dtype](block) for block in row] for row in blocks]).reshape(3, values)
    assert tensors["w"].dtype == np.float32
    np.testing.assert_allclose(tensors["w"], expected, rtol=1e-5, atol=1e-5)
    for part in ((slice(1, 3),), (slice(0, 2), slice(5, values - 7)), (slice(0, 3), slice(4, 4)), (slice(2, 2),)):
        np.testing.assert_array_equal(tensors.read("w", part), tensors["w"][part])


@pytest.mark.parametrize("dtype", FORMULAS)
def test_raw_gives_the_blocks(tmp_path, dtype):
    blocks = random_blocks(dtype, rows=2, count=3)
    write(tmp_path / "m.gguf", [("w", blocks.reshape(2, -1), gguf.GGMLQuantizationType[dtype])])
    tensors, values = open_gguf(tmp_path / "m.gguf"), BLOCKS[dtype].values
    np.testing.assert_array_equal(tensors.raw("w"), blocks.reshape(2, -1))
    np.testing.assert_array_equal(
        tensors.raw("w", (slice(1, 2), slice(values, 3 * values))), blocks[1:, 1:].reshape(1, -1)
    )
    with pytest.raises(ValueError, match="cuts a block"):
        tensors.raw("w", (slice(0, 1), slice(1, values)))


def test_plain_tensors_keep_their_types(tmp_path):
    values = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    write(
        tmp_path / "m.gguf",
        [
            ("f32", values, None),
            ("f16", values.astype(np.float16), None),
            ("bf16", bits.view(np.uint8), gguf.GGMLQuantizationType.BF16),
            ("i32", np.arange(4, dtype=np.int32), None),
        ],
    )
    tensors = open_gguf(tmp_path / "m.gguf")
    assert {name: tensors.info(name) for name in tensors} == {
        "f32": TensorInfo("F32", (2, 3, 4)),
        "f16": TensorInfo("F16", (2, 3, 4)),
        "bf16": TensorInfo("BF16", (2, 3, 4)),
        "i32": TensorInfo("I32", (4,)),
    }
    np.testing.assert_array_equal(tensors["f32"], values)
    np.testing.assert_array_equal(tensors["f16"], values.astype(np.float16))
    np.testing.assert_array_equal(tensors["bf16"], (bits.astype(np.uint32) << 16).view(np.float32))
    np.testing.assert_array_equal(tensors.read("f32", (slice(1, 2), slice(0, 3), slice(1, 3))), values[1:, :, 1:3])
    assert tensors["i32"].tolist() == [0, 1, 2, 3]


def test_metadata_comes_as_plain_values(tmp_path):
    metadata = {
        "llama__block_count": 2,
        "llama__rope__freq_base": 0.5,
        "tokenizer__ggml__add_bos_token": True,
        "tokenizer__chat_template": "{{ 'héllo' }}",
        "tokenizer__ggml__tokens": ["a", "é", ""],
        "tokenizer__ggml__scores": [1.0, -2.5],
        "tokenizer__ggml__token_type": [1, 3],
        "flags": [True, False],
    }
    write(tmp_path / "m.gguf", **metadata)
    found = open_gguf(tmp_path / "m.gguf").metadata
    assert found == {"general.architecture": "llama", **{key.replace("__", "."): metadata[key] for key in metadata}}
    assert found["flags"] == [True, False] and type(found["flags"][0]) is bool


def test_without_the_package_plain_tensors_are_read_and_quantised_ones_say_what_to_install(tmp_path, monkeypatch):
    blocks = random_blocks("Q8_0", rows=1, count=1).reshape(1, -1)
    write(tmp_path / "m.gguf", [("w", blocks, gguf.GGMLQuantizationType.Q8_0), ("v", np.ones(2, np.float32), None)])
    monkeypatch.setitem(sys.modules, "gguf.quants", None)
    tensors = open_gguf(tmp_path / "m.gguf")
    assert tensors["v"].tolist() == [1, 1]
    with pytest.raises(UserError, match=r"pip install 'mf-ckpt\[gguf\]'"):
        tensors["w"]


def text(content):
    return struct.pack("<Q", len(content)) + content


def header(tensors=0, entries=0, version=3, body=b""):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, entries) + body


def tensor(name=b"w", dims=(32,), kind=0, offset=0):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def entry(kind, value, key=b"k"):
    return text(key) + struct.pack("<I", kind) + value


def array(kind, count, items=b""):
    return struct.pack("<IQ", kind, count) + items


ALIGN = entry(4, struct.pack("<I", 64), b"general.alignment")
DAMAGED = {
    "empty": (b"", "is empty"),
    "no magic": (b"GGML" + bytes(60), "doesn't begin with GGUF"),
    "short": (b"GGUF\x03", "truncated in the header"),
    "version 1": (header(version=1), "has version 1 of the format"),
    "big-endian": (header(version=3 << 24), "big-endian"),
    "too many entries": (header(entries=2**60), "1152921504606846976 metadata entries are announced"),
    "too many tensors": (header(tensors=2**60), "tensors are announced"),
    "text beyond the file": (header(entries=1, body=struct.pack("<Q", 2**62) + bytes(40)), "bytes are needed"),
    "text not UTF-8": (header(entries=1, body=entry(8, text(b"\xff\xfe"))), "not UTF-8"),
    "unknown value": (header(entries=1, body=entry(13, bytes(8))), "unknown type 13"),
    "boolean 2": (header(entries=1, body=entry(7, b"\x02")), "neither 0 nor 1"),
    "array beyond the file": (header(entries=1, body=entry(9, array(4, 2**40))), "array items are announced"),
    "nested arrays": (header(entries=1, body=entry(9, array(9, 1) * 6 + array(4, 0))), "nested deeper"),
    "entry twice": (header(entries=2, body=entry(4, bytes(4)) * 2), "metadata 'k' twice"),
    "split": (header(entries=1, body=entry(2, b"\x03\x00", b"split.count")), "one of 3 parts"),
    "alignment": (header(entries=1, body=entry(4, b"\x03\0\0\0", b"general.alignment")), "no power of two"),
    "tensor twice": (header(tensors=2, body=tensor() * 2), "tensor 'w' twice"),
    "dims": (header(tensors=1, body=text(b"w") + struct.pack("<I", 99) + bytes(20)), "99 dimensions"),
    "unknown type": (header(tensors=1, body=tensor(kind=13)), "type number 13 is not read. Allowed: F32"),
    "too large": (header(tensors=1, body=tensor(dims=(2**62, 2**62))), "too large to be counted"),
    "half a block": (header(tensors=1, body=tensor(dims=(33,), kind=8)), "rows of Q8_0 need a multiple of 32"),
    "unaligned": (header(tensors=1, body=tensor(offset=4) + bytes(400)), "not aligned to 32"),
    "own alignment": (header(1, 1, body=ALIGN + tensor(offset=32) + bytes(400)), "not aligned to 64"),
    "overlap": (header(tensors=2, body=tensor() + tensor(b"v", offset=32) + bytes(400)), "'w' and 'v' overlap"),
    "truncated": (header(tensors=1, body=tensor() + bytes(60)), "the last .* bytes of tensor 'w' are missing"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_is_refused_in_words(tmp_path, kind):
    content, message = DAMAGED[kind]
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(CheckpointError, match=message) as caught:
        open_gguf(tmp_path / "m.gguf")
    assert caught.value.path == tmp_path / "m.gguf"


def test_only_files_of_that_name_are_taken(tmp_path):
    (tmp_path / "m.gguf").touch()
    (tmp_path / "folder.gguf").mkdir()
    assert [is_gguf(tmp_path / name) for name in ("m.gguf", "folder.gguf", "none.gguf")] == [True, False, False]
    with pytest.raises(CheckpointError, match="no such file"):
        open_gguf(tmp_path / "none.gguf")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "m.gguf"
    blocks = random_blocks("Q4_1", rows=2, count=1).reshape(2, -1)
    tensors = [("w", blocks, gguf.GGMLQuantizationType.Q4_1), ("v", np.ones(4, np.float32), None)]
    write(path, tensors, tokens=["a", "b"], scores=[1.0])
    return path.read_bytes()


@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_without_a_crash(sound, tmp_path_factory, data):
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("mutated") / "m.gguf"
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    tracemalloc.start()
    try:
        tensors = open_gguf(path)
        assert all(tensors[name].shape == tensors.info(name).shape for name in tensors)
    except CheckpointError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 10_000_000


def test_quantised_tensors_are_read_under_another_name(tmp_path):
    blocks = random_blocks("Q8_0", 2, 1)
    write(tmp_path / "q.gguf", [("q", blocks.reshape(2, -1), gguf.GGMLQuantizationType.Q8_0)])
    source = open_gguf(tmp_path / "q.gguf")
    np.testing.assert_array_equal(RenamedSource(source, {"other": "q"})["other"], source["q"])

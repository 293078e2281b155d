"""Reading and writing `.ckpt` files.

`data/mindspore/plain.ckpt`, `crc.ckpt` and `plain.safetensors` were made with MindSpore 2.10:

    parameters = [{"name": "t." + dtype, "data": Parameter(Tensor((np.arange(6).reshape(2, 3) % 5).astype(dtype)))} ...]
    parameters.append({"name": "scalar", "data": Parameter(Tensor(np.float32(2.5)))})
    more = {"epoch_num": 3, "loss": 0.5, "flag": True, "note": "héllo ✓"}
    save_checkpoint(parameters, "plain.ckpt", append_dict=more)
    save_checkpoint(parameters, "crc.ckpt", crc_check=True)
    save_checkpoint(parameters, "plain.safetensors", format="safetensors")
"""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.formats.mindspore_ckpt import ckpt_writer
from mf_ckpt.formats.mindspore_ckpt.ckpt_file import is_ckpt, open_ckpt
from mf_ckpt.formats.mindspore_ckpt.ckpt_folder import is_ckpt_folder, open_ckpt_folder
from mf_ckpt.formats.mindspore_ckpt.ckpt_writer import CkptWriter
from mf_ckpt.formats.safetensors_file.tensors import open_file
from mf_ckpt.tensor_info import TensorInfo

DATA = Path(__file__).parents[1] / "data" / "mindspore"
COUNTED = np.arange(6).reshape(2, 3) % 5
NUMPY_TYPES = {
    "int8": "I8",
    "uint8": "U8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "bool": "BOOL",
}


@pytest.mark.parametrize(("numpy_type", "dtype"), NUMPY_TYPES.items())
def test_a_file_of_mindspore_is_read(numpy_type, dtype):
    tensors = open_ckpt(DATA / "plain.ckpt")
    name = f"t.{numpy_type}"
    assert tensors.info(name) == TensorInfo(dtype, (2, 3))
    assert tensors[name].dtype == numpy_type
    np.testing.assert_array_equal(tensors[name], COUNTED.astype(numpy_type))
    np.testing.assert_array_equal(tensors.read(name, (slice(1, 2), slice(0, 2))), COUNTED.astype(numpy_type)[1:2, :2])


def test_scalars_and_texts_of_mindspore_are_read():
    tensors = open_ckpt(DATA / "plain.ckpt")
    assert {name: tensors[name].item() for name in ("scalar", "epoch_num", "loss", "flag")} == {
        "scalar": 2.5,
        "epoch_num": 3,
        "loss": 0.5,
        "flag": True,
    }
    assert tensors.info("epoch_num") == TensorInfo("I64", ())
    assert tensors.texts == {"note": "héllo ✓"}
    assert "note" not in tensors and len(tensors) == 16


def test_what_is_written_again_is_what_mindspore_wrote(tmp_path):
    tensors = open_ckpt(DATA / "plain.ckpt")
    with CkptWriter(tmp_path / "again.ckpt") as writer:
        for name in tensors:
            writer.add(name, tensors.raw(name), tensors.info(name).dtype)
        writer.add_text("note", tensors.texts["note"])
    assert (tmp_path / "again.ckpt").read_bytes() == (DATA / "plain.ckpt").read_bytes()


def test_a_checksum_is_written_as_mindspore_writes_it(tmp_path):
    tensors = open_ckpt(DATA / "crc.ckpt")
    tensors.check_crc()
    with CkptWriter(tmp_path / "again.ckpt", crc=True) as writer:
        for name in tensors:
            writer.add(name, tensors.raw(name), tensors.info(name).dtype)
    assert (tmp_path / "again.ckpt").read_bytes() == (DATA / "crc.ckpt").read_bytes()


def test_a_changed_byte_is_found_by_the_checksum(tmp_path):
    content = bytearray((DATA / "crc.ckpt").read_bytes())
    content[content.index(b"Float32") + 20] ^= 1
    (tmp_path / "changed.ckpt").write_bytes(content)
    with pytest.raises(CheckpointError, match="other content than when it was saved"):
        open_ckpt(tmp_path / "changed.ckpt").check_crc()


def test_safetensors_of_mindspore_hold_the_same():
    tensors, other = open_file(DATA / "plain.safetensors"), open_ckpt(DATA / "crc.ckpt")
    assert set(tensors) == set(other)
    assert tensors.files["scalar"].header.metadata == {"format": "ms"}
    assert all(np.array_equal(tensors.raw(name), other.raw(name)) for name in tensors)


def test_bfloat16_keeps_its_bits(tmp_path):
    bits = np.array([[0x3F80, 0x7F80], [0xFFC1, 0x0001]], np.uint16)
    with CkptWriter(tmp_path / "bf16.ckpt") as writer:
        writer.add("w", bits, "BF16")
        writer.add("rounded", np.array([1 / 3], np.float32), "BF16")
    tensors = open_ckpt(tmp_path / "bf16.ckpt")
    assert tensors.info("w") == TensorInfo("BF16", (2, 2))
    np.testing.assert_array_equal(tensors.raw("w"), bits)
    assert tensors["rounded"].tolist() == [0.333984375]


SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
TYPES = st.sampled_from([np.dtype(name) for name in NUMPY_TYPES])


@given(data=st.data(), chunk_bytes=st.integers(1, 40), crc=st.booleans())
def test_any_tensor_comes_back_whole_and_in_parts(tmp_path_factory, data, chunk_bytes, crc):
    array = data.draw(arrays.arrays(data.draw(TYPES), data.draw(SHAPES), elements={"allow_nan": False}))
    path = tmp_path_factory.mktemp("any") / "any.ckpt"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ckpt_writer, "CHUNK_BYTES", chunk_bytes)
        with CkptWriter(path, crc=crc) as writer:
            writer.add("before", np.float32(1))
            writer.add("tensor", array)
    tensors = open_ckpt(path)
    tensors.check_crc()
    assert tensors["tensor"].dtype == array.dtype
    np.testing.assert_array_equal(tensors["tensor"], array)
    slices = tuple(
        slice(*sorted((data.draw(st.integers(0, size)), data.draw(st.integers(0, size))))) for size in array.shape
    )
    np.testing.assert_array_equal(tensors.raw("tensor", slices), array[slices])
    out = np.empty_like(array[slices])
    tensors.raw_into("tensor", slices, out)
    np.testing.assert_array_equal(out, array[slices])


def field(number, content):
    """A field of a message, written by hand; content shorter than 128 bytes."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def value(tag, dims, kind, content):
    tensor = b"".join(field(1, dim) for dim in dims) + field(2, kind) + field(3, content)
    return field(1, field(1, tag) + field(2, tensor))


GOOD = value(b"w", [2], b"Float32", bytes(8))
DAMAGED = {
    "empty": (b"", "is empty"),
    "truncated key": (GOOD + b"\x80", "number that begins there doesn't end"),
    "endless number": (b"\x80" * 12, "doesn't end"),
    "number beyond 64 bits": (b"\x0a" + b"\xff" * 9 + b"\x7f", "doesn't end"),
    "truncated content": (GOOD[:-1], "truncated or damaged"),
    "length beyond the file": (b"\x0a\xff\xff\xff\xff\x0f" + GOOD, "bytes are announced"),
    "length beyond its message": (field(1, b"\x0a\x05w"), "bytes are announced"),
    "unknown field at the top": (field(2, b"x"), "no MindSpore checkpoint"),
    "number at the top": (field(1, 5), "no MindSpore checkpoint"),
    "group": (b"\x0b\x0c", "no field has number"),
    "field number 0": (b"\x02\x00", "no field has number"),
    "no name": (field(1, field(2, field(2, b"Int8") + field(3, b"x"))), "has no name"),
    "no tensor": (field(1, field(1, b"w")), "has no tensor"),
    "tensor is a number": (field(1, field(1, b"w") + field(2, 3)), "has no tensor"),
    "name twice": (field(1, field(1, b"w") + field(1, b"v")), "written twice"),
    "name not UTF-8": (value(b"\xff", [1], b"Int8", b"x"), "not UTF-8"),
    "hash table": (field(1, field(1, b"w") + field(3, b"")), "hash table"),
    "no type": (field(1, field(1, b"w") + field(2, field(3, b"x"))), "lacks its type"),
    "no content": (field(1, field(1, b"w") + field(2, field(2, b"Int8"))), "lacks its type or its content"),
    "content twice": (field(1, field(1, b"w") + field(2, field(3, b"x") + field(3, b"x"))), "field 3 twice"),
    "unknown type": (value(b"w", [1], b"Flaot32", bytes(4)), "unknown type 'Flaot32'.*Did you mean Float32"),
    "four bits": (value(b"w", [1], b"Int4", b"x"), "unknown type 'Int4'"),
    "too little content": (value(b"w", [3], b"Float32", bytes(8)), "need 12 bytes, found 8"),
    "too much content": (value(b"w", [], b"Float32", bytes(8)), "need 4 bytes, found 8"),
    "negative dim": (
        field(1, field(1, b"w") + field(2, b"\x08" + b"\xff" * 9 + b"\x01" + field(2, b"Int8") + field(3, b""))),
        "not whole numbers",
    ),
    "uncountable dims": (
        field(1, field(1, b"w") + field(2, (b"\x08" + b"\xff" * 8 + b"\x7f") * 2 + field(2, b"Int8") + field(3, b"x"))),
        "too large to be counted",
    ),
    "too many dims": (value(b"w", [1] * 33, b"Int8", b"x"), "more than 32 dims"),
    "apart": (GOOD + value(b"v", [1], b"Int8", b"x") + GOOD, "'w' twice"),
    "chunks of other types": (GOOD + value(b"w", [2], b"Int32", bytes(8)), "differ in type or shape"),
    "twice side by side": (GOOD + GOOD, "need 8 bytes, found 16"),
    "text not UTF-32": (value(b"t", [0], b"str", b"\xff\xff\xff\xff"), "not UTF-32"),
    "pickle": (b"\x80\x02}q\x00.", "PyTorch file, which is never unpickled"),
    "zip": (b"PK\x03\x04" + bytes(30), "PyTorch file"),
    "strategy": ((DATA / "strategy.ckpt").read_bytes(), "may be a strategy file"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_is_refused_in_words(tmp_path, kind):
    content, message = DAMAGED[kind]
    path = tmp_path / "damaged.ckpt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message) as caught:
        open_ckpt(path)
    assert caught.value.path == path


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="no such file"):
        open_ckpt(tmp_path / "none.ckpt")
    with pytest.raises(CheckpointError, match="is a folder"):
        open_ckpt(tmp_path)


def test_packed_dims_and_a_zero_dim_of_a_scalar_are_understood(tmp_path):
    packed = field(1, bytes([2, 3])) + field(2, b"Int8") + field(3, b"abcdef")
    (tmp_path / "w.ckpt").write_bytes(
        field(1, field(1, b"w") + field(2, packed))
        + value(b"s", [0], b"Int8", b"\x07")
        + value(b"e", [0], b"Int8", b"")
    )
    tensors = open_ckpt(tmp_path / "w.ckpt")
    assert tensors["w"].tobytes() == b"abcdef" and tensors["w"].shape == (2, 3)
    assert tensors["s"].shape == () and tensors["s"].item() == 7
    assert tensors["e"].shape == (0,)


def opens_or_is_refused(path, content):
    path.write_bytes(content)
    tracemalloc.start()
    try:
        for tensor in open_ckpt(path).values():
            assert tensor.nbytes <= len(content)
    except CheckpointError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1_000_000


@given(content=st.binary(min_size=1, max_size=200))
def test_arbitrary_bytes_are_refused_without_a_crash(tmp_path_factory, content):
    opens_or_is_refused(tmp_path_factory.mktemp("fuzz") / "f.ckpt", content)


@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_without_a_crash(tmp_path_factory, data):
    content = bytearray((DATA / "plain.ckpt").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(content)))
    opens_or_is_refused(tmp_path_factory.mktemp("mutated") / "m.ckpt", bytes(content[:cut]))


def test_after_an_exception_the_former_file_stays(tmp_path):
    path = tmp_path / "w.ckpt"
    path.write_bytes(b"former")
    with pytest.raises(RuntimeError, match="stop"), CkptWriter(path) as writer:
        writer.add("w", np.zeros(4))
        raise RuntimeError("stop")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("w.ckpt", b"former")]


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"ends in \.ckpt"):
        CkptWriter(tmp_path / "w.bin")
    with CkptWriter(tmp_path / "w.ckpt") as writer:
        writer.add("w", np.zeros(2))
        with pytest.raises(ValueError, match="'w' was added before"):
            writer.add("w", np.zeros(2))
        with pytest.raises(ValueError, match="has no F8_E4M3"):
            writer.add("v", np.zeros(2, np.uint8), "F8_E4M3")
        with pytest.raises(ValueError, match="is empty"):
            writer.add_text("note", "")


def test_files_of_a_folder_are_one_checkpoint(tmp_path):
    for stem in ("base", "lora"):
        with CkptWriter(tmp_path / f"{stem}.ckpt") as writer:
            writer.add(stem, np.full(2, len(stem), np.float32))
    assert is_ckpt_folder(tmp_path) and not is_ckpt(tmp_path) and is_ckpt(tmp_path / "base.ckpt")
    tensors = open_ckpt_folder(tmp_path)
    assert list(tensors) == ["base", "lora"]
    assert tensors["lora"].tolist() == [4, 4]
    assert tensors.read("base", (slice(0, 1),)).tolist() == [4]


def test_a_tensor_in_two_files_of_a_folder_is_refused(tmp_path):
    for stem in ("step-1", "step-2"):
        with CkptWriter(tmp_path / f"{stem}.ckpt") as writer:
            writer.add("w", np.zeros(2))
    with pytest.raises(CheckpointError, match=r"step-2\.ckpt: holds 1 tensors that another file .* 'w'"):
        open_ckpt_folder(tmp_path)


def test_a_link_out_of_a_folder_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "w.ckpt").symlink_to(DATA / "plain.ckpt")
    with pytest.raises(CheckpointError, match=r"symbolic link to .* outside"):
        open_ckpt_folder(tmp_path / "folder")

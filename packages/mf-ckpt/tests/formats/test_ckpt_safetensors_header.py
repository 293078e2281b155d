"""Damaged files are refused with the fault in words; sound ones agree with the safetensors library."""

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt import CheckpointError
from mf_ckpt.formats.safetensors_file.header import read_header, render_entry, render_header
from mf_ckpt.tensor_info import TensorInfo

DAMAGED = Path(__file__).parents[1] / "data" / "damaged"

FAULTS = {
    "duplicate_tensor": "'w' is written twice",
    "empty": "is empty",
    "gap": "gap of 4 bytes after 'a', before tensor 'b'",
    "git_lfs_pointer": "pointer of Git LFS",
    "header_is_list": "JSON list where an object is needed",
    "header_length_huge": "header length 1152921504606846976 is absurd",
    "header_length_zero": "header of length 0",
    "header_not_json": "is not JSON",
    "offset_past_end": "last 16 bytes of data are missing",
    "overlap": "tensors 'k' and 'v' overlap",
    "reversed_offsets": r"tensor 'a': data_offsets \[16, 0\]",
    "shape_disagrees": "tensor 'a': .*need 4000000 bytes.*hold 16",
    "three_bytes": "3 bytes",
    "trailing_bytes": "7 bytes at the end that belong to no tensor",
    "truncated_data": "last 5 bytes of data are missing",
    "truncated_header": "truncated in the header: 80 of its 112 bytes are missing",
}


def write(path: Path, header: bytes, data: bytes = b"") -> Path:
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return path


def entry(dtype: object = "F32", shape: object = (2,), offsets: object = (0, 8)) -> bytes:
    return json.dumps({"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}).encode()


def test_the_list_of_damaged_files_is_whole():
    assert {path.stem for path in DAMAGED.glob("*.safetensors")} == {*FAULTS, "good"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_damaged_file_is_refused_with_its_name_and_fault(name: str):
    with pytest.raises(CheckpointError, match=FAULTS[name]) as caught:
        read_header(DAMAGED / f"{name}.safetensors")
    assert str(caught.value).startswith(f"{DAMAGED / name}.safetensors: ")


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (entry(dtype="FP32"), "unknown dtype 'FP32'.*Did you mean F32"),
        (entry(dtype=["F32"]), "unknown dtype"),
        (entry(shape=[-2]), "whole numbers"),
        (entry(shape=[2.0]), "whole numbers"),
        (entry(shape=[True, 2]), "whole numbers"),
        (entry(shape=[1] * 33), "at most 32"),
        (entry(shape=[0, 2**62, 4], offsets=[0, 0]), "too large to be counted"),
        (entry(offsets=[0]), "begin and end"),
        (entry(offsets=[-8, 0]), "begin and end"),
        (b'{"a":{"dtype":"F32","shape":[2]}}', "must have dtype, shape and data_offsets"),
        (b'{"a":[]}', "must have dtype"),
        (b'{"__metadata__":{"n":1}}', "__metadata__ must map text to text"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nesting is too deep"),
        (b'{"a":' + b"9" * 5_000 + b"}", "number is too long"),
    ],
)
def test_a_malformed_header_is_refused(tmp_path: Path, header: bytes, fault: str):
    with pytest.raises(CheckpointError, match=fault):
        read_header(write(tmp_path / "x.safetensors", header, bytes(8)))


def test_an_overlap_of_one_byte_is_refused(tmp_path: Path):
    entries = {
        name: {"dtype": "U8", "shape": [4], "data_offsets": place} for name, place in (("a", [0, 4]), ("b", [3, 7]))
    }
    with pytest.raises(CheckpointError, match="'a' and 'b' overlap"):
        read_header(write(tmp_path / "x.safetensors", json.dumps(entries).encode(), bytes(7)))


def test_a_header_that_lacks_one_byte_is_called_truncated(tmp_path: Path):
    path = tmp_path / "x.safetensors"
    path.write_bytes((DAMAGED / "good.safetensors").read_bytes()[:119])
    with pytest.raises(CheckpointError, match="truncated in the header: 1 of its 112 bytes"):
        read_header(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path):
    with pytest.raises(CheckpointError, match="no such file"):
        read_header(tmp_path / "x.safetensors")
    with pytest.raises(CheckpointError, match="is a folder"):
        read_header(tmp_path)


@given(cut=st.integers(min_value=0, max_value=151))
def test_every_truncation_is_refused(tmp_path_factory: pytest.TempPathFactory, cut: int):
    path = tmp_path_factory.mktemp("cut") / "x.safetensors"
    path.write_bytes((DAMAGED / "good.safetensors").read_bytes()[:cut])
    with pytest.raises(CheckpointError):
        read_header(path)


@given(data=st.binary(max_size=200), length=st.integers(min_value=0, max_value=200))
def test_arbitrary_bytes_raise_nothing_else(tmp_path_factory: pytest.TempPathFactory, data: bytes, length: int):
    path = tmp_path_factory.mktemp("any") / "x.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + data)
    try:
        assert read_header(path).tensors == {}
    except CheckpointError as error:
        assert str(path) in str(error)


def test_the_good_file_has_the_places_that_its_bytes_show():
    header = read_header(DAMAGED / "good.safetensors")
    assert header.tensors == {"a": TensorInfo("F32", (2, 2)), "b": TensorInfo("F32", (4,))}
    assert header.begins == {"a": 120, "b": 136}


def test_a_rendered_header_is_read_by_the_safetensors_library():
    info = TensorInfo("F32", (2, 1))
    entries = [render_entry("a", info, 0), render_entry('q"\n', info, 8)]
    header = render_header(entries, {"format": "pt"}, 4096)
    assert len(header) == 4096
    content = np.arange(4, dtype="<f4").tobytes()
    tensors = dict(safetensors.deserialize(header + content))
    assert {name: bytes(tensor["data"]) for name, tensor in tensors.items()} == {"a": content[:8], 'q"\n': content[8:]}


def test_a_header_without_room_is_refused():
    with pytest.raises(ValueError, match="doesn't fit into 56"):
        render_header([render_entry("a_longer_name", TensorInfo("F32", (2,)), 0)], {}, 64)

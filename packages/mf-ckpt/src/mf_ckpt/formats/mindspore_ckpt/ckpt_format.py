"""The messages of a MindSpore `.ckpt` file, by number, and the names that it gives element types.

A file is one `Checkpoint` message, written as a sequence of them: each holds a `Value` with a tag (the tensor's name)
and a `TensorProto` of dims, type and content. A tensor of more than 512 MiB is a run of values with the same tag and
the dims of the whole. A trailer of `crc_num` and a checksum may follow. Source: MindSpore, checkpoint.proto.
"""

VALUE = 1
"""Checkpoint: one value."""

TAG, TENSOR, MAP_TENSOR = 1, 2, 3
"""Value: its name, its tensor, or a hash table in place of the tensor."""

DIMS, TENSOR_TYPE, CONTENT = 1, 2, 3
"""TensorProto: extents, element type, little-endian content in C order."""

TEXT_TYPE = "str"
"""The type of a value that is text in UTF-32, no tensor."""

CHUNK_BYTES = 512 * 1024 * 1024
"""Content of one value at most; a longer tensor is split."""

CRC_MARK = b"crc_num"
CRC_BYTES = 10
"""A checksum of all bytes before the mark: CRC-32 as an unsigned number, the highest byte first."""

ELEMENT_NAMES = {
    "Int8": "I8",
    "UInt8": "U8",
    "Int16": "I16",
    "UInt16": "U16",
    "Int32": "I32",
    "UInt32": "U32",
    "Int64": "I64",
    "UInt64": "U64",
    "Float16": "F16",
    "Float32": "F32",
    "Float64": "F64",
    "BFloat16": "BF16",
    "Bool": "BOOL",
}
"""Name of an element type in the file to its name in `mf_ckpt.dtypes`."""

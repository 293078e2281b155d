"""The head of an index of Megatron's form: what the file holds; see `mf_data.indexed.files` for the whole form."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from mf_config.problems import UserError, name_values

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
HEADER = struct.Struct("<9sQBQQ")
"""Magic word, version, type code, number of sequences, number of document indices."""

DTYPES = {1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float32, 7: np.float64, 8: np.uint16}
"""Type code to the type of an id; the two floating types hold values that are no ids."""

LENGTH = np.dtype("<i4")
PLACE = np.dtype("<i8")


def read_header(index: Path) -> tuple[np.dtype[Any], int, int]:
    """Read the head of an index.

    Args:
        index: the file.
    Returns:
        Type of the ids, number of sequences and of document indices; the file has the size that they need.
    Raises:
        UserError: it is no index, is cut off, or holds modes of a multimodal data set.
    """
    size = index.stat().st_size
    with index.open("rb") as file:
        content = file.read(HEADER.size)
    if len(content) < HEADER.size:
        raise UserError(f"{index}: has {size} bytes, too few for an index. The file was copied incompletely.")
    magic, version, code, sequences, documents = HEADER.unpack(content)
    if magic != MAGIC:
        raise UserError(f"{index}: begins with {magic!r} and is no index. Allowed: {MAGIC!r}.")
    if version != VERSION:
        raise UserError(f"{index}: has version {version}. Allowed: {VERSION}.")
    if code not in DTYPES:
        known = name_values(f"{code} {dtype.__name__}" for code, dtype in DTYPES.items())
        raise UserError(f"{index}: type code {code} is unknown. Allowed: {known}.")
    needed = HEADER.size + sequences * (LENGTH.itemsize + PLACE.itemsize) + documents * PLACE.itemsize
    if sequences and size == needed + sequences:
        raise UserError(f"{index}: holds a mode for each sequence (a multimodal data set). Allowed: an index of text.")
    if size != needed:
        raise UserError(
            f"{index}: has {size} bytes, but {sequences} sequences and {documents} document indices take {needed}. "
            "The file is damaged or was copied incompletely."
        )
    return np.dtype(DTYPES[code]).newbyteorder("<"), sequences, documents

"""Files of a checkpoint folder: names that stay inside it, JSON documents, and writes that survive a power cut."""

import json
import os
import re
from pathlib import Path
from typing import Any

from mf_config.problems import UserError

JsonObject = dict[str, Any]
"""A decoded JSON object."""


class CheckpointError(UserError):
    """A file or folder that can't be used as (part of) a checkpoint; its text is `path: what is wrong`.

    Attributes:
        path: the file or folder.
        what: the fault, in words.
    """

    def __init__(self, path: Path, what: str):
        """Takes the place and the fault."""
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what


# What no file system and no other tool reads as a path: no separator, no drive, no leading dot.
_SIMPLE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*\Z")


def is_simple_name(name: object) -> bool:
    """Whether a value read from a file is the plain name of a file: text, no path, no leading dot."""
    return isinstance(name, str) and _SIMPLE_NAME.match(name) is not None


def member(folder: Path, name: str) -> Path:
    """The path of a file in a checkpoint folder.

    Args:
        folder: the folder.
        name: a plain file name, possibly from an untrusted index.

    Returns:
        The path; the file may be missing.

    Raises:
        CheckpointError: the name is a path, or the file is a symbolic link that leaves the folder. One link may do
            so: that of a Hugging Face download cache, from `snapshots/REVISION/` to the `blobs/` beside `snapshots/`.
    """
    if not is_simple_name(name):
        raise CheckpointError(folder, f"{name!r} is not a plain file name. Allowed: the name of a file in that folder.")
    path = folder / name
    if path.is_symlink():
        real_folder, target = folder.resolve(), path.resolve()
        in_cache = real_folder.parent.name == "snapshots" and target.parent == real_folder.parents[1] / "blobs"
        if target.parent != real_folder and not in_cache:
            raise CheckpointError(path, f"is a symbolic link to {target}, outside the checkpoint's folder")
    return path


def parse_json_object(text: bytes) -> JsonObject:
    """Decode a JSON object strictly.

    Raises:
        UserError: not UTF-8, not JSON, not an object, nested absurdly deep, or a key written twice.
    """
    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except UserError:
        raise
    except UnicodeDecodeError:
        raise UserError("is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise UserError(f"is not JSON: {error.msg} at character {error.pos}") from None
    except (ValueError, RecursionError):
        raise UserError("is not JSON that can be read: a number is too long or the nesting is too deep") from None
    if not isinstance(value, dict):
        raise UserError(f"is a JSON {type(value).__name__} where an object is needed")
    return value


def read_json(path: Path) -> JsonObject:
    """Read a file that holds one JSON object.

    Raises:
        CheckpointError: the file is missing or `parse_json_object` refuses it.
    """
    try:
        return parse_json_object(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(path, "no such file") from None
    except UserError as error:
        raise CheckpointError(path, str(error)) from None


def json_bytes(data: object) -> bytes:
    """A JSON document as it is stored: indented, UTF-8, keys in the order of `data`."""
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> JsonObject:
    found: JsonObject = {}
    for key, value in pairs:
        if key in found:
            raise UserError(f"the name {key!r} is written twice")
        found[key] = value
    return found

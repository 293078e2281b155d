"""The manifest of a checkpoint: what files it has, how long they are, and their checksums.

It is written last, so that a folder with a manifest whose files are all there is a complete checkpoint.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_128_hexdigest

from mf_ckpt.disk.files import CheckpointError, JsonObject, is_simple_name, json_bytes, member, parse_json_object
from mf_ckpt.store.fingerprints import ALGORITHM, Fingerprint, write_new
from mf_config.problems import UserError

MANIFEST = "manifest.json"

_FORMAT = "mf-checkpoint"
_VERSION = 1
_CHECKSUM = re.compile(r"[0-9a-f]{32}\Z")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a complete checkpoint consists of.

    Attributes:
        step: optimizer updates done when it was saved; None where it doesn't come from training.
        files: every file but the manifest itself, by name.
    """

    step: int | None
    files: Mapping[str, Fingerprint]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest and wait until it is on the disk."""
    write_new(folder / MANIFEST, render_manifest(manifest))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest; the files that it lists are not looked at.

    Raises:
        CheckpointError: it is missing, damaged, or of a format that this version doesn't know.
    """
    path = member(folder, MANIFEST)
    try:
        return decode_manifest(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(path, "is missing, so the checkpoint is not complete") from None
    except UserError as error:
        raise CheckpointError(path, str(error)) from None


def complete_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder that has every file it lists, each of the right size; contents are not read.

    Returns:
        None where the manifest is missing or damaged or a file doesn't fit, also where it goes away meanwhile.
    """
    try:
        manifest = read_manifest(folder)
        sizes = ((folder / name, found.size) for name, found in manifest.files.items())
        whole = all(path.is_file() and path.stat().st_size == size for path, size in sizes)
    except (UserError, OSError):
        return None
    return manifest if whole else None


def is_complete(folder: Path) -> bool:
    """Whether a folder has a sound manifest and every file that it lists, each of the right size; unread."""
    return complete_manifest(folder) is not None


def render_manifest(manifest: Manifest) -> bytes:
    """The manifest's bytes: JSON, files in the order of their names, and at the end a checksum of all before it."""
    document: JsonObject = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "step": manifest.step,
        "files": {name: _entry(found) for name, found in sorted(manifest.files.items())},
    }
    return json_bytes({**document, ALGORITHM: xxh3_128_hexdigest(json_bytes(document))})


def decode_manifest(content: bytes) -> Manifest:
    """The manifest that `render_manifest` made these bytes of.

    Raises:
        UserError: it is damaged, or of a format that this version doesn't know.
    """
    manifest = _checked(parse_json_object(content))
    if render_manifest(manifest) != content:
        raise UserError("has been changed since it was written")
    return manifest


def _entry(found: Fingerprint) -> JsonObject:
    start = {"start": found.start} if found.start else {}
    return {"size": found.size, **start, ALGORITHM: found.checksum}


def _checked(document: JsonObject) -> Manifest:
    if document.get("format") != _FORMAT:
        raise UserError(f"format is {document.get('format')!r}. Allowed: {_FORMAT!r}.")
    if document.get("format_version") != _VERSION:
        raise UserError(
            f"format_version is {document.get('format_version')!r}. Allowed: {_VERSION}; is mf-ckpt too old?"
        )
    step, entries = document.get("step"), document.get("files")
    if not (step is None or type(step) is int) or not isinstance(entries, dict):
        raise UserError("needs a step (a whole number or null) and files (an object)")
    return Manifest(step, {name: _fingerprint(name, entry) for name, entry in entries.items()})


def _fingerprint(name: str, entry: object) -> Fingerprint:
    if not is_simple_name(name) or name == MANIFEST:
        raise UserError(f"lists {name!r}, which is not a plain file name, or is the manifest's own")
    if not isinstance(entry, dict):
        raise UserError(f"file {name!r} needs an object with size and {ALGORITHM}")
    size, start, checksum = entry.get("size"), entry.get("start", 0), entry.get(ALGORITHM)
    if not (type(size) is int and type(start) is int and 0 <= start <= size):
        raise UserError(f"file {name!r} needs a size, and a start within it where there is one, as whole numbers")
    if not isinstance(checksum, str) or not _CHECKSUM.match(checksum):
        raise UserError(f"file {name!r} needs {ALGORITHM}, 32 hexadecimal digits")
    return Fingerprint(size, checksum, start)

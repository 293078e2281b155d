"""The manifest of a checkpoint: what files it has, how long they are, and their checksums.

It is written last, so that a folder with a manifest whose files are all there is a complete checkpoint.
"""

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mf_ckpt.files import (
    CheckpointError,
    JsonObject,
    is_simple_name,
    json_bytes,
    member,
    parse_json_object,
    write_synced,
)
from mf_config.problems import UserError

MANIFEST = "manifest.json"

_FORMAT = "mf-checkpoint"
_VERSION = 1
_HASH_THREADS = 4
"""Beyond this the disk is the limit, not the hash."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Size in bytes and SHA-256 (in hexadecimal, as `sha256sum` prints it) of a file."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a complete checkpoint consists of.

    Attributes:
        step: optimizer updates done when it was saved; None where it doesn't come from training.
        files: every file but the manifest itself, by name.
    """

    step: int | None
    files: Mapping[str, Fingerprint]


def fingerprints(folder: Path, names: Iterable[str]) -> dict[str, Fingerprint]:
    """Read files of a folder from end to end.

    Args:
        folder: the folder.
        names: names of existing files in it.

    Returns:
        The fingerprint of each, in the same order.
    """
    names = list(names)
    with ThreadPoolExecutor(_HASH_THREADS) as pool:
        return dict(zip(names, pool.map(_fingerprint, (folder / name for name in names)), strict=True))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest and wait until it is on the disk."""
    write_synced(folder / MANIFEST, _render(manifest))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest; the files that it lists are not looked at.

    Raises:
        CheckpointError: it is missing, damaged, or of a format that this version doesn't know.
    """
    path = member(folder, MANIFEST)
    try:
        content = path.read_bytes()
        manifest = _decode(parse_json_object(content))
        if _render(manifest) != content:
            raise UserError("has been changed since it was written")
    except FileNotFoundError:
        raise CheckpointError(path, "is missing, so the checkpoint is not complete") from None
    except UserError as error:
        raise CheckpointError(path, str(error)) from None
    return manifest


def is_complete(folder: Path) -> bool:
    """Whether a folder has a sound manifest and every file that it lists, each of the right size; unread."""
    try:
        manifest = read_manifest(folder)
    except (UserError, OSError):
        return False
    paths = ((folder / name, fingerprint.size) for name, fingerprint in manifest.files.items())
    return all(path.is_file() and path.stat().st_size == size for path, size in paths)


def _fingerprint(path: Path) -> Fingerprint:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return Fingerprint(file.tell(), digest.hexdigest())


def _render(manifest: Manifest) -> bytes:
    document: JsonObject = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "step": manifest.step,
        "files": {name: {"size": mark.size, "sha256": mark.sha256} for name, mark in sorted(manifest.files.items())},
    }
    return json_bytes({**document, "sha256": hashlib.sha256(json_bytes(document)).hexdigest()})


def _decode(document: JsonObject) -> Manifest:
    if document.get("format") != _FORMAT:
        raise UserError(f"format is {document.get('format')!r}. Allowed: {_FORMAT!r}.")
    if document.get("format_version") != _VERSION:
        raise UserError(
            f"format_version is {document.get('format_version')!r}. Allowed: {_VERSION}; is mf-ckpt too old?"
        )
    step, entries = document.get("step"), document.get("files")
    if not (step is None or type(step) is int) or not isinstance(entries, dict):
        raise UserError("needs a step (a whole number or null) and files (an object)")
    files = {}
    for name, entry in entries.items():
        if not is_simple_name(name):
            raise UserError(f"lists {name!r}, which is not a plain file name")
        if not isinstance(entry, dict) or type(entry.get("size")) is not int:
            raise UserError(f"file {name!r} needs a size and a sha256")
        files[name] = Fingerprint(entry["size"], str(entry.get("sha256")))
    return Manifest(step, files)

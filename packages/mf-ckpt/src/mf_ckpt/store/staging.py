"""Folders that appear whole or not at all: written beside their place under a hidden name, then renamed.

A hidden name is `.NAME.KIND-PID-TOKEN`. `partial` is being written, `replaced` made room for a newer folder of the
same name, `retired` is being deleted. Whatever a crash leaves behind has such a name, and `tidy` puts it right.
"""

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mf_ckpt.disk.files import CheckpointError, sync
from mf_ckpt.store.manifest import MANIFEST, is_complete

_HIDDEN = re.compile(r"\.(?P<name>.+)\.(?P<kind>partial|replaced|retired)-\d+-[0-9a-f]{8}\Z")


def is_hidden(folder: Path) -> bool:
    """Whether a folder's name says that it is being written or deleted."""
    return _HIDDEN.match(folder.name) is not None


def check_place(place: Path) -> None:
    """Make sure that a checkpoint may be written to `place`.

    Raises:
        CheckpointError: something other than a checkpoint or an empty folder is there, which must not be lost.
    """
    if place.is_symlink() or place.is_file():
        replaceable = False
    else:
        # A checkpoint that lost files since may be replaced: refusing would end the run that saves.
        replaceable = not place.exists() or (place / MANIFEST).exists() or not any(place.iterdir())
    if replaceable:
        return
    raise CheckpointError(place, "exists and is not a checkpoint; choose another place or remove it first")


def check_apart(source: Path, place: Path) -> None:
    """Make sure that what is written to `place` neither replaces the source that it is made from nor lies within it.

    Raises:
        CheckpointError: it does.
    """
    read, written = source.resolve(), place.resolve()
    if written == read:
        raise CheckpointError(place, "is the source itself. Allowed: another place.")
    if written.is_relative_to(read) or read.is_relative_to(written):
        raise CheckpointError(place, f"lies within the source {source}, or around it. Allowed: a place beside it.")


@contextmanager
def locked_partial(place: Path) -> Iterator[Path]:
    """A new hidden folder beside `place`, marked as in use until the context ends; what still lies there is deleted.

    Args:
        place: where the folder's content belongs; folders above it are made.

    Yields:
        The hidden folder.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = _hidden_name(place, "partial")
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # A file system without locks (some network ones) only loses tidy's protection of a save in progress.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        os.close(descriptor)
        shutil.rmtree(folder, ignore_errors=True)


def publish(folder: Path, place: Path) -> None:
    """Rename a finished folder to its place; a former checkpoint there is deleted only afterwards.

    Between the two renames that a replacement takes, both folders are complete under hidden names; `tidy` finishes
    the work after a crash at that point.
    """
    sync(folder)
    former = _hidden_name(place, "replaced") if place.exists() else None
    try:
        if former:
            place.rename(former)
        folder.rename(place)
    finally:
        # An error or an interrupt between the renames must not leave the place empty.
        if former and former.exists() and not place.exists():
            former.rename(place)
    sync(place.parent)
    if former:
        shutil.rmtree(former, ignore_errors=True)


def publish_file(file: Path, place: Path) -> None:
    """Rename a finished file, all of which is on the disk, to its place; a former file there is replaced."""
    file.replace(place)
    sync(place.parent)


def discard(folder: Path) -> None:
    """Delete a folder so that a crash on the way leaves nothing that looks like a checkpoint."""
    hidden = _hidden_name(folder, "retired")
    folder.rename(hidden)
    sync(hidden.parent)
    shutil.rmtree(hidden)


def tidy(root: Path) -> list[Path]:
    """Finish or remove what crashed saves and deletions left in `root`; a save in progress is left alone.

    Returns:
        The hidden folders dealt with.
    """
    leftovers = [folder for folder in sorted(root.iterdir()) if is_hidden(folder) and folder.is_dir()]
    # A newer checkpoint that is complete (partial) has the first right to an empty place, before the replaced one.
    return [folder for folder in leftovers if not folder.is_symlink() and _tidy_one(folder)]


def _tidy_one(folder: Path) -> bool:
    if _in_use(folder):
        return False
    match = _HIDDEN.match(folder.name)
    assert match is not None
    place = folder.with_name(match["name"])
    if match["kind"] != "retired" and not place.exists() and is_complete(folder):
        folder.rename(place)
        sync(place.parent)
    else:
        shutil.rmtree(folder)
    return True


def _in_use(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def _hidden_name(place: Path, kind: str) -> Path:
    return place.with_name(f".{place.name}.{kind}-{os.getpid()}-{secrets.token_hex(4)}")

"""Checkpoints in object stores and on other file systems that `fsspec` knows: uploaded after a save, downloaded to use.

`mf_ckpt.mirror` uploads whole folders of runs.

A download, and not reads of ranges, because then every byte is checked against the manifest before it is used, the
parts of a checkpoint that are read twice travel once, and everything that works on a folder works on what was a URL.
Credentials and endpoints come from where fsspec and its file systems look for them: their configuration files and
environment variables.
"""

import fcntl
import importlib
import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from xxhash import xxh3_128_hexdigest

from mf_ckpt.disk.files import is_simple_name, sync
from mf_ckpt.reading.verification import verify
from mf_ckpt.store.fingerprints import Fingerprint, read_fingerprints, write_new
from mf_ckpt.store.manifest import MANIFEST, Manifest, decode_manifest, is_complete
from mf_config.problems import UserError

_log = logging.getLogger(__name__)

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+\Z")

_UNNAMED = "checkpoint"
"""What a checkpoint is called in the cache whose address ends with no plain name."""

Store = Any
"""A `fsspec.AbstractFileSystem`: that package is an extra, and has no types."""

_uploading = threading.Lock()
"""Held while a checkpoint is uploaded: two threads that upload the same one send it once."""


def check_url(text: str, key: str) -> None:
    """Make sure that a configured value is the address of a remote folder.

    Published run configurations have a sentence in place of it, which asks the reader to fill it in.

    Args:
        text: the value.
        key: the name of the key, for the message.

    Raises:
        UserError: it is not a URL, or nothing is installed that can reach such a URL.
    """
    try:
        file_system(text)
    except UserError as error:
        raise UserError(f"{key}: {error}") from None


def upload(checkpoint: str | Path, root_url: str) -> str:
    """Copy a checkpoint into a remote folder; its manifest arrives last, so that it is complete there or none.

    The files are checked first, so that what is damaged does not spread. Another checkpoint at the same address loses
    its manifest first and is written over. Where the same one is there already, nothing is done. A process has one
    upload under way at a time; others wait.

    Args:
        checkpoint: the folder of a complete checkpoint.
        root_url: the remote folder that is to hold it, such as `s3://bucket/run`.

    Returns:
        The checkpoint's address: `root_url` and the name of the folder.

    Raises:
        UserError: the checkpoint is damaged or incomplete, or nothing installed can reach the URL.
        OSError: the transfer failed.
    """
    folder = Path(checkpoint)
    url = f"{root_url.rstrip('/')}/{folder.name}"
    with _uploading:
        _upload(folder, url)
    return url


def _upload(folder: Path, url: str) -> None:
    if not (folder / MANIFEST).is_file():
        raise UserError(f"{folder}: has no {MANIFEST}. Allowed: a complete checkpoint.")
    findings = verify(folder)
    if findings:
        raise UserError(f"{findings[0]}; a damaged checkpoint is not uploaded")
    content = (folder / MANIFEST).read_bytes()
    store, root = file_system(url)
    present = _read(store, f"{root}/{MANIFEST}")
    if present == content:
        return
    if present is not None:
        store.rm_file(f"{root}/{MANIFEST}")
    store.makedirs(root, exist_ok=True)
    for name in (*decode_manifest(content).files, MANIFEST):
        store.put_file(str(folder / name), f"{root}/{name}")
    _log.info("uploaded %s", url)


def remove(url: str, manifest: bytes, *, is_interrupted: bool = False) -> bool:
    """Delete a checkpoint in a remote folder, its manifest first, so that it is complete there or none.

    Nothing but the files that the manifest lists is deleted, and nothing where another checkpoint has the address.

    Args:
        url: the address of the checkpoint.
        manifest: the content of its manifest, which says that it is the one that is meant.
        is_interrupted: whether its upload was interrupted, so that files of it may lie there without a manifest.

    Returns:
        Whether there was anything to delete.

    Raises:
        UserError: the manifest is damaged, or nothing installed can reach the URL.
        OSError: something could not be deleted.
    """
    url = url.rstrip("/")
    files = _decode(url, manifest).files
    store, root = file_system(url)
    present = _read(store, f"{root}/{MANIFEST}")
    if present != manifest and not (is_interrupted and present is None):
        return False
    for name in (MANIFEST, *files):
        with suppress(FileNotFoundError):
            store.rm_file(f"{root}/{name}")
    # Most stores have no folders, and somebody else's files may lie in this one.
    with suppress(OSError, NotImplementedError):
        store.rmdir(root)
    _log.info("deleted %s", url)
    return True


def latest(root_url: str) -> str | None:
    """The newest complete checkpoint that `upload` put into a remote folder.

    Args:
        root_url: the remote folder.

    Returns:
        The address of the one with the highest step; None where there is none.

    Raises:
        UserError: a manifest there is damaged, or nothing installed can reach the URL.
    """
    store, root = file_system(root_url.rstrip("/"))
    store.invalidate_cache()
    steps = {}
    for path in store.glob(f"{root}/*/{MANIFEST}"):
        url = f"{root_url.rstrip('/')}/{path.split('/')[-2]}"
        steps[url] = _decode(url, store.cat_file(path)).step or 0
    return max(steps, key=lambda url: (steps[url], url), default=None)


def download(url: str, cache: str | Path) -> Path:
    """Copy a remote checkpoint into a local cache, every file checked against the manifest.

    What is in the cache already is not transferred again, also after an interruption between two files. Several
    processes may ask for the same checkpoint: one transfers it, the others wait.

    Args:
        url: the address of a checkpoint.
        cache: the local folder of all downloaded checkpoints; it is made, and may be deleted at any time.

    Returns:
        The checkpoint's folder in the cache, for `mf_ckpt.open`.

    Raises:
        UserError: there is no complete checkpoint, a file did not arrive as it was saved, or nothing installed can
            reach the URL.
        OSError: the transfer failed.
    """
    url = url.rstrip("/")
    store, root = file_system(url)
    content = _read(store, f"{root}/{MANIFEST}")
    if content is None:
        raise UserError(f"{url}: has no {MANIFEST}. Allowed: the address of a complete checkpoint.")
    # The name is kept, and two checkpoints of one name don't meet.
    name = url.rpartition("/")[2]
    place = Path(cache) / xxh3_128_hexdigest(content) / (name if is_simple_name(name) else _UNNAMED)
    place.mkdir(parents=True, exist_ok=True)
    with _alone(place):
        if not is_complete(place):
            # Something was deleted from the cache where there is one.
            (place / MANIFEST).unlink(missing_ok=True)
            for file, expected in _decode(url, content).files.items():
                _fetch(store, f"{root}/{file}", place / file, expected)
            sync(place)
            write_new(place / MANIFEST, content)
            sync(place)
    return place


def _fetch(store: Store, remote: str, target: Path, expected: Fingerprint) -> None:
    """Download one file beside its folder, check it, and move it in; a file that is there was checked when it came."""
    if target.is_file() and target.stat().st_size == expected.size:
        return
    arriving = target.parent.with_name(f".{target.name}.{os.getpid()}")
    try:
        store.get_file(remote, str(arriving))
        found = read_fingerprints(arriving.parent, [(arriving.name, expected.start)])[arriving.name]
        if found != expected:
            raise UserError(
                f"{store.unstrip_protocol(remote)}: arrived with other content than {MANIFEST} lists "
                f"({found.size} bytes, listed {expected.size}): damaged, or replaced at this moment"
            )
        sync(arriving)
        arriving.rename(target)
    finally:
        arriving.unlink(missing_ok=True)
    _log.info("downloaded %s", store.unstrip_protocol(remote))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process is in this context with the same folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Without locks, processes may transfer the same file twice, each under a name of its own.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _read(store: Store, path: str) -> bytes | None:
    try:
        content: bytes = store.cat_file(path)
    except FileNotFoundError:
        return None
    return content


def _decode(url: str, content: bytes) -> Manifest:
    try:
        return decode_manifest(content)
    except UserError as error:
        raise UserError(f"{url}/{MANIFEST}: {error}") from None


def file_system(url: str) -> tuple[Store, str]:
    """The fsspec file system of a URL, and the path in it.

    Args:
        url: of a folder in a store.

    Raises:
        UserError: it is no URL, or nothing installed can reach it.
    """
    if not _URL.match(url):
        raise UserError(f"{url!r} is not a URL. Allowed: a folder in a store, such as s3://bucket/folder.")
    try:
        # Imported here because it is an extra that most users don't install.
        core = importlib.import_module("fsspec.core")
    except ModuleNotFoundError:
        raise UserError("URLs need the package fsspec: pip install 'mf-ckpt[remote]'") from None
    try:
        store, path = core.url_to_fs(url)
    except ImportError as error:
        raise UserError(f"{url}: its file system is not installed: {error}") from None
    except ValueError as error:
        hint = " OBS also speaks S3: write s3:// and set FSSPEC_S3_ENDPOINT_URL." if url.startswith("obs://") else ""
        raise UserError(f"{url}: {error}. Allowed: a protocol that fsspec knows.{hint}") from None
    return store, path

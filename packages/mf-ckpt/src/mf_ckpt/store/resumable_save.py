"""Writes what is made from sources, a checkpoint or a single file: resumably, verified, in one step into its place."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mf_ckpt.store.block_stream import Progress, write_files
from mf_ckpt.store.file_plan import PlannedFile, Series
from mf_ckpt.store.fingerprints import Fingerprint, copy_new, write_new
from mf_ckpt.store.manifest import MANIFEST, Manifest, write_manifest
from mf_ckpt.store.partial_job import discard_jobs, partial_job
from mf_ckpt.store.staging import check_apart, check_place, publish, publish_file

READING_THREADS = min(4, os.cpu_count() or 1)
"""Enough to keep a disk busy; more than there are processors only take them from the thread that writes."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a checkpoint is to hold.

    Attributes:
        series: its tensors.
        documents: name to content, or to a file that is copied.
        source: what the tensors are made from.
        step: optimizer updates done; None where that is not known.
        origin: everything that decides the bytes of the tensors, beside their names, types and shapes.
        has_manifest: True for an mf checkpoint, False for a plain Hugging Face folder.
    """

    series: tuple[Series, ...]
    documents: Mapping[str, bytes | Path]
    source: Path
    step: int | None
    origin: str
    has_manifest: bool = True


def store(
    content: Content, destination: str | Path, *, progress: Progress | None = None, workers: int = READING_THREADS
) -> None:
    """Write a checkpoint, or go on with the writing of it; it takes its place when it is complete.

    Args:
        content: what it is to hold.
        destination: its folder.
        progress: called with bytes done and bytes in all.
        workers: threads that read.

    Raises:
        UserError: the destination can't be written to, or a tensor can't be read.
    """
    place = Path(destination)
    check_apart(content.source, place)
    check_place(place)
    plans = [series.plan() for series in content.series]
    files = [file for planned, _ in plans for file in planned]
    documents = {**content.documents, **{name: text for _, indexes in plans for name, text in indexes.items()}}
    headers = "".join(f"{file.name} {file.header!r}" for file in files)
    with partial_job(place, f"{content.origin} {headers}") as job:
        written = write_files(files, job, workers=workers, progress=progress or _ignore)
        for name, document in documents.items():
            written[name] = _write_document(job.folder / name, document)
        (job.folder / MANIFEST).unlink(missing_ok=True)
        if content.has_manifest:
            write_manifest(job.folder, Manifest(content.step, written))
        job.finish()
        publish(job.folder, place)
    discard_jobs(place)


def store_file(
    file: PlannedFile,
    source: Path,
    destination: Path,
    origin: str,
    *,
    progress: Progress | None = None,
    workers: int = READING_THREADS,
) -> None:
    """Write a single file, or go on with the writing of it; it takes its place when it is complete.

    Args:
        file: what it consists of.
        source: what it is made from.
        destination: where it goes; what is there is replaced.
        origin: everything that decides its bytes.
        progress: called with bytes done and bytes in all.
        workers: threads that read.

    Raises:
        UserError: the destination can't be written to, or a tensor can't be read.
    """
    check_apart(source, destination)
    with partial_job(destination, origin) as job:
        write_files([file], job, workers=workers, progress=progress or _ignore)
        job.finish()
        publish_file(job.folder / file.name, destination)
    discard_jobs(destination)


def _write_document(path: Path, document: bytes | Path) -> Fingerprint:
    # An earlier try may have written it.
    path.unlink(missing_ok=True)
    return write_new(path, document) if isinstance(document, bytes) else copy_new(document, path)


def _ignore(done: int, total: int) -> None:
    """Progress that nobody asked for."""

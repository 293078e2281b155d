"""Moves blocks from sources into files: read by several threads, written in order, with a fixed amount of memory."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from xxhash import xxh3_128_hexdigest

from mf_ckpt.dtypes import Array
from mf_ckpt.sources.blocks import BLOCK_BYTES
from mf_ckpt.store.file_plan import Block, PlannedFile
from mf_ckpt.store.fingerprints import Fingerprint
from mf_ckpt.store.partial_job import PartialJob

Progress = Callable[[int, int], None]
"""Called with the bytes done so far and the bytes in all."""

_SPARE_BUFFERS = 2
"""Beyond one for each reading thread: one that is being written, and one that is ready."""


def write_files(
    files: Iterable[PlannedFile], job: PartialJob, *, workers: int, progress: Progress
) -> dict[str, Fingerprint]:
    """Write files, each block that isn't there yet.

    At most `workers + 2` blocks are in memory.

    Args:
        files: what to write.
        job: where to, and what was written before an interruption.
        workers: threads that read; at least 1.
        progress: told of every block.

    Returns:
        The fingerprint of each file; all of them are on the disk.
    """
    files = list(files)
    kept = {file.name: job.sound_bytes(file) for file in files}
    total, done = sum(file.size for file in files), sum(kept.values())
    progress(done, total)
    found = {}
    with ThreadPoolExecutor(workers) as pool:
        missing = (block for file in files for block in file.blocks() if block.begin >= kept[file.name])
        contents = _read_ahead(pool, missing, workers + _SPARE_BUFFERS)
        for file in files:
            with job.open(file, kept[file.name]) as writing:
                blocks = (block for block in file.blocks() if block.begin >= kept[file.name])
                for block, (content, checksum) in zip(blocks, contents, strict=False):
                    writing.write(content)
                    job.record(block, checksum)
                    done += block.nbytes
                    progress(done, total)
                found[file.name] = writing.finish()
    return found


def _read_ahead(
    pool: ThreadPoolExecutor, blocks: Iterable[Block], buffer_count: int
) -> Iterator[tuple[memoryview, str]]:
    """The content of each block and its checksum, in order; a content is valid until the next one is asked for."""
    free: list[Array] = [np.empty(BLOCK_BYTES, np.uint8) for _ in range(buffer_count)]
    pending: deque[tuple[Array, Array, Future[str]]] = deque()
    for block in blocks:
        buffer = free.pop()
        content = buffer[: block.nbytes]
        pending.append((buffer, content, pool.submit(_fill, block, content)))
        if not free:
            yield from _first(pending, free)
    while pending:
        yield from _first(pending, free)


def _first(pending: deque[tuple[Array, Array, Future[str]]], free: list[Array]) -> Iterator[tuple[memoryview, str]]:
    buffer, content, checksum = pending.popleft()
    yield content.data, checksum.result()
    free.append(buffer)


def _fill(block: Block, out: Array) -> str:
    block.fill(out)
    return xxh3_128_hexdigest(out.data)

"""Streams the documents of a file of JSON lines: through mf-data's loader, or by a loop over its lines."""

import json
import resource
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

_UNIT = 1024
"""Bytes in which Linux counts memory."""


def main() -> None:
    """Arguments: who reads, and the file; prints the measures as one line of JSON."""
    reader, path = sys.argv[1], Path(sys.argv[2])
    tenth = path.stat().st_size // 10
    began = time.perf_counter()
    texts = {"mf-data": _with_mf, "json": _with_json}[reader](path)
    characters = count = early = 0
    for text in texts:
        count += 1
        characters += len(text)
        if not early and characters > tenth:
            early = _peak_mb()
    seconds = time.perf_counter() - began
    measures = {"mb_per_s": path.stat().st_size / 1e6 / seconds, "peak_mb": _peak_mb(), "peak_mb_after_a_tenth": early}
    versions = {"python": sys.version.split()[0], "mf-data": version("mf-data")}
    sys.stdout.write(json.dumps({"measures": measures, "result": [count, characters], "versions": versions}) + "\n")


def _with_mf(path: Path) -> Iterator[str]:
    from mf_data.loaders.text import TextDataLoader

    return (document.text for document in TextDataLoader(dataset_dir=str(path)).documents())


def _with_json(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        for line in file:
            yield json.loads(line)["text"]


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT / 1e6


if __name__ == "__main__":
    main()

"""Streaming a large file of JSON lines through mf-data's loader against a loop with `json.loads`.

    python benchmarks/bench_stream.py [--megabytes 2000] [--json FILE]

`peak_mb` is the most memory that the process held, `peak_mb_after_a_tenth` what it was when a tenth was read: both are
equal where memory does not grow with the file.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from data_text import write_corpus
from harness import Contender, compare, report

_WORKER = str(Path(__file__).with_name("stream_worker.py"))


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=2000, help="size of the file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "mf-benchmarks")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    corpus = arguments.folder / f"text-{arguments.megabytes}.jsonl"
    write_corpus(corpus, arguments.megabytes)
    ours, peer = (Contender(name, (sys.executable, _WORKER, name, str(corpus))) for name in ("mf-data", "json"))
    title, settings = f"streaming {arguments.megabytes} MB", {"megabytes": arguments.megabytes}
    report(compare(title, ours, peer, rounds=arguments.rounds, settings=settings), arguments.json)


if __name__ == "__main__":
    main()

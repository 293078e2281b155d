"""Checking a folder of run configurations against parsing them with PyYAML alone.

    python benchmarks/bench_validate.py FOLDER [--json FILE]

`import_s` is the time to load the program's modules, `files_s` that for all files together after that, `start_s` that
of a process that starts and says only what it can do.
"""

import argparse
import sys
from pathlib import Path

from harness import ROUNDS, Contender, compare, report

_WORKER = str(Path(__file__).with_name("validate_worker.py"))


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of run configurations")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    ours, peer = (
        Contender(name, (sys.executable, _WORKER, reader, str(arguments.folder)))
        for name, reader in (("mf-train validate", "mf"), ("yaml.safe_load", "pyyaml"))
    )
    report(compare("checking configurations", ours, peer, rounds=arguments.rounds), arguments.json)


if __name__ == "__main__":
    main()

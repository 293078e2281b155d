"""Run published configurations in miniature, print how each one goes, and write it into docs/real-files.md.

`MF_REAL_CONFIGS=FOLDER python tools/real_files.py [NAME …] [--jobs N] [--seconds S] [--commands]`. Each file gets the
overrides of examples/tiny-overrides.yaml and runs in a process of its own. The page keeps the rows of files that do not
run this time.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mf_infer.llm import ON_CPU
from mf_models.device import prepare
from real_runs.materials import Materials
from real_runs.outcome import Outcome, outcome, shown
from real_runs.overrides import TinyRun, tiny_run
from real_runs.table import as_row, kept_rows, summary, write_rows

CONFIGS = "MF_REAL_CONFIGS"
ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "real-files.md"
WORK = ROOT / "output" / "real-files"
SECONDS = 180


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for.

    Args:
        arguments: the words after the program's name; those of the process where None.

    Returns:
        The exit status: 1 where a file fails, 2 where there is none.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar="NAME", help="files of the folder; all where absent")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"time limit of a file ({SECONDS})")
    parser.add_argument("--commands", action="store_true", help="print the commands instead of running them")
    options = parser.parse_args(arguments)
    folder = os.environ.get(CONFIGS)
    files = sorted(Path(folder).glob("*.yaml")) if folder else []
    chosen = [file for file in files if not options.names or file.name in options.names]
    if not chosen:
        print(f"{CONFIGS} names no folder with such run configurations", file=sys.stderr)
        return 2
    runs = prepared(chosen, WORK)
    if options.commands:
        print("\n".join(shown(tiny) for tiny in runs if not tiny.problems))
        return 0
    found = []
    with ThreadPoolExecutor(options.jobs) as pool:
        started = [pool.submit(outcome, tiny, WORK / tiny.published.stem, options.seconds) for tiny in runs]
        for each in as_completed(started):
            found.append(each.result())
            tell(found[-1], {file.name for file in files})
    print(summary(found))
    return int(any(each.verdict == "fails" for each in found))


def prepared(files: Sequence[Path], work: Path) -> list[TinyRun]:
    """The runs of some files, with everything made that they read, in `work`; each has a folder of its own there."""
    prepare(ON_CPU)
    materials = Materials(work / "materials")
    runs = []
    for file in files:
        folder = work / file.stem
        folder.mkdir(parents=True, exist_ok=True)
        tiny = tiny_run(file, materials, folder)
        if tiny.config is not None and not tiny.problems and tiny.config.load_checkpoint is not None:
            materials.draw_weights(tiny.config.model.model_config)
        runs.append(tiny)
    return runs


def tell(found: Outcome, files: set[str]) -> None:
    """Print an outcome and write it into the page, at once because all of them take a while."""
    print(f"{found.file}: {found.verdict}: {found.result}", flush=True)
    rows = kept_rows(PAGE.read_text("utf-8"), files)
    write_rows(PAGE, {**rows, found.file: as_row(found)})


if __name__ == "__main__":
    sys.exit(main())

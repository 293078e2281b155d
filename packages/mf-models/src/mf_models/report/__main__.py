"""`python -m mf_models.report [FOLDER]`: what each family was measured to do, as a table."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import mindspore as ms

import mf_models
from mf_config.command_line import FAILURE, OK, USER_ERROR
from mf_config.problems import UserError
from mf_models.report.cells import Row
from mf_models.report.rows import rows, subjects
from mf_models.report.table import as_page, as_table

_GOLDENS = Path(mf_models.__file__).parents[2] / "tests" / "data"
"""Where the golden models lie beside the sources."""

_DESCRIPTION = """Measure every model family that is installed against golden models: Hugging Face directories with a
golden.npz of tokens and of what an independent program made of them. Differences are the largest over all elements, in
float32. LoRA: merged against beside the weights, over the largest logit. cache: token by token against all at once.
Ascend: compiled without a device, by MindSpore with stand-ins for the CANN libraries."""

_TITLE = """# What each family was measured to do

`python -m mf_models.report --markdown > REPORT.md` prints this page."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status: 0 where every value is within its bound, 1 where one is not, 2 for a user's mistake.
    """
    parser = argparse.ArgumentParser(prog="python -m mf_models.report", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("folder", nargs="?", type=Path, default=_GOLDENS, help="folder of golden models")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON, one object a model")
    forms.add_argument("--markdown", action="store_true", help="print a page of Markdown")
    parser.add_argument("--no-ascend", action="store_true", help="leave the compilation for Ascend out")
    options = parser.parse_args(arguments)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        found = _measured(options.folder, not options.no_ascend)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return USER_ERROR
    sys.stdout.write(_written(found, options))
    return FAILURE if any(row.failed for row in found) else OK


def _written(found: list[Row], options: argparse.Namespace) -> str:
    if options.json:
        return json.dumps([asdict(row) for row in found], indent=2) + "\n"
    return as_page(found, f"{_TITLE}\n\n{_DESCRIPTION}") if options.markdown else as_table(found)


def _measured(folder: Path, with_ascend: bool) -> list[Row]:
    wanted, found = subjects(folder), []
    begin = time.perf_counter()
    for number, row in enumerate(rows(wanted, with_ascend), 1):
        seconds = time.perf_counter() - begin
        sys.stderr.write(f"{number} of {len(wanted)}, {seconds:.0f} s: {row.family} {row.model}\n")
        found.append(row)
    return found


if __name__ == "__main__":
    sys.exit(main())

"""`mf-train report`: draw the report of a run anew."""

import argparse
import json
from pathlib import Path

from mf_config.command_line import OK, Command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("output_dir", type=Path, help="the output_dir of a training run, going on or ended")
    parser.add_argument("--to", type=Path, metavar="FILE", help="where to write it; report.html in output_dir without")
    parser.add_argument("--json", action="store_true", help="print the report's path as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write the page; returns the exit status."""
    # On demand: NumPy would double the time in which the other commands start.
    from mf_data.files import write_atomically
    from mf_train.records.output import OutputFolder
    from mf_train.report import read_run, render

    output = OutputFolder(arguments.output_dir)
    place = arguments.to or output.report
    write_atomically(place, render(read_run(output)).encode())
    print(json.dumps({"report": str(place)}) if arguments.json else place)
    return OK


REPORT = Command("report", "Draw a run on one page: curves, samples, configuration.", add_arguments, run)
"""The subcommand."""

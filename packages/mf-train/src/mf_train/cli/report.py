"""`mf-train report`: draw the report of a run anew."""

import json
from argparse import Namespace

from mf_config.command_line import OK
from mf_data.files import write_atomically
from mf_train.records.output import OutputFolder
from mf_train.report import read_run, render


def run(arguments: Namespace) -> int:
    """Write the page; returns the exit status."""
    output = OutputFolder(arguments.output_dir)
    place = arguments.to or output.report
    write_atomically(place, render(read_run(output)).encode())
    print(json.dumps({"report": str(place)}) if arguments.json else place)
    return OK

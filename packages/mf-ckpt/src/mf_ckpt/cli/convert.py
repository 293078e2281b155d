"""`mf-ckpt convert`: a checkpoint in another program's form."""

import time
from argparse import Namespace
from pathlib import Path

from mf_ckpt.cli.output import (
    ProgressLine,
    note,
    note_adapter,
    open_path,
    print_written,
)
from mf_ckpt.conversion.other_programs import in_hf_form, write_mindspore
from mf_ckpt.conversion.transform import export, transform
from mf_ckpt.disk.files import read_json
from mf_ckpt.sources.source import some
from mf_config.command_line import OK


def run(arguments: Namespace) -> int:
    """Write the checkpoint in the other form; returns the exit status."""
    started = time.monotonic()
    destination = Path(arguments.destination)
    opened = open_path(arguments.source, arguments.strategy)
    config = read_json(Path(arguments.config)) if arguments.config else opened.config
    reader, left_out = in_hf_form(opened, config)
    note_adapter(opened)
    if left_out:
        note(f"left out {len(left_out)} tensors, for no weight is named so: {some(left_out)}")
    progress = ProgressLine()
    if arguments.to == "mf":
        transform(reader, destination, dtype=arguments.dtype, progress=progress)
    elif arguments.to == "hf":
        export(reader, destination, dtype=arguments.dtype, progress=progress)
    else:
        write_mindspore(reader, destination, config, arguments.dtype, progress)
    print_written(destination, time.monotonic() - started, arguments.json)
    return OK

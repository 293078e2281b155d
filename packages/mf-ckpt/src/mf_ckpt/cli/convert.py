"""`mf-ckpt convert`: a checkpoint in another program's form."""

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from mf_ckpt.cli.output import (
    PATH_HELP,
    ProgressLine,
    add_json_option,
    add_strategy_option,
    note,
    note_adapter,
    open_path,
    print_written,
)
from mf_ckpt.conversion.other_programs import in_hf_form, write_mindspore
from mf_ckpt.conversion.transform import export, transform
from mf_ckpt.disk.files import read_json
from mf_ckpt.sources.source import some
from mf_config.command_line import OK, Command

DTYPES = ("F32", "F16", "BF16")


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SRC", help=PATH_HELP)
    parser.add_argument("destination", metavar="DST", help="the new folder; a .ckpt file for --to mindspore")
    parser.add_argument("--to", required=True, choices=("hf", "mf", "mindspore"), help="form of the new checkpoint")
    parser.add_argument("--dtype", type=str.upper, choices=DTYPES, help="type of all float weights; unchanged without")
    parser.add_argument(
        "--config", metavar="FILE", help="config.json of the model in Hugging Face form, where SRC has none"
    )
    add_strategy_option(parser)
    add_json_option(parser)


def _run(arguments: Namespace) -> int:
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


COMMAND = Command("convert", "Write a checkpoint in the form of mf, Hugging Face or MindSpore.", _add_arguments, _run)

"""`mf-ckpt merge-lora`: a base and a LoRA adapter as one checkpoint."""

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from mf_ckpt.cli.output import PATH_HELP, ProgressLine, add_json_option, open_path, print_written
from mf_ckpt.conversion.merge_lora import merge_lora
from mf_config.command_line import OK, Command


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("base", metavar="BASE", help=PATH_HELP)
    parser.add_argument("adapter", metavar="ADAPTER", help="folder of a Hugging Face PEFT adapter")
    parser.add_argument("destination", metavar="DST", help="the new checkpoint's folder")
    add_json_option(parser)


def _run(arguments: Namespace) -> int:
    started = time.monotonic()
    destination = Path(arguments.destination)
    merge_lora(open_path(arguments.base), arguments.adapter, destination, progress=ProgressLine())
    print_written(destination, time.monotonic() - started, arguments.json)
    return OK


COMMAND = Command("merge-lora", "Merge a LoRA adapter into its base.", _add_arguments, _run)

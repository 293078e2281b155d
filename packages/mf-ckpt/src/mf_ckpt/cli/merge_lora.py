"""`mf-ckpt merge-lora`: a base and a LoRA adapter as one checkpoint."""

import time
from argparse import Namespace
from pathlib import Path

from mf_ckpt.cli.output import ProgressLine, open_path, print_written
from mf_ckpt.conversion.merge_lora import merge_lora
from mf_config.command_line import OK


def run(arguments: Namespace) -> int:
    """Write base and adapter as one checkpoint; returns the exit status."""
    started = time.monotonic()
    destination = Path(arguments.destination)
    merge_lora(open_path(arguments.base), arguments.adapter, destination, progress=ProgressLine())
    print_written(destination, time.monotonic() - started, arguments.json)
    return OK

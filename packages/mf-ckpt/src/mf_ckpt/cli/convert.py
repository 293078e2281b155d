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
from mf_ckpt.formats.gguf_file.source import GgufTensors
from mf_ckpt.gguf_documents import documents_of_header
from mf_ckpt.reading.reader import Reader
from mf_ckpt.sources.source import some
from mf_config.command_line import OK


def run(arguments: Namespace) -> int:
    """Write the checkpoint in the other form; returns the exit status."""
    started = time.monotonic()
    destination = Path(arguments.destination)
    opened = open_path(arguments.source, arguments.strategy)
    config = read_json(Path(arguments.config)) if arguments.config else None
    opened = _with_header_documents(opened, has_config=config is not None)
    config = config or opened.config
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


def _with_header_documents(opened: Reader, has_config: bool) -> Reader:
    """A GGUF file with what its header says as files; any other checkpoint as it is."""
    if not isinstance(opened.weights, GgufTensors):
        return opened
    made = documents_of_header(opened.weights, has_config)
    for fault in made.faults:
        note(f"left out of the files beside the weights: {fault}")
    return Reader(opened.path, opened.weights, form=opened.form, documents=made.documents)

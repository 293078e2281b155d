"""Cutting anew with torch.distributed.checkpoint: one process loads the whole model and saves it again.

Its own form is read and written. On one machine without ranks there is nothing else that the library offers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.distributed.checkpoint as dcp

import mf_ckpt

VERSIONS = {"torch": torch.__version__}


def prepare(source: Path, form: str) -> Path:
    """The checkpoint in the library's form, beside that of mf."""
    place = source.with_name("source_torch")
    if not place.exists():
        reader = mf_ckpt.open(source)
        dcp.save({name: torch.from_numpy(np.array(reader[name])) for name in reader}, checkpoint_id=place)
    return place


def reshard(job: Path, target: Path) -> None:
    """Load all, save all."""
    metadata = dcp.FileSystemReader(job).read_metadata().state_dict_metadata
    state = {name: torch.empty(entry.size, dtype=entry.properties.dtype) for name, entry in metadata.items()}
    dcp.load(state, checkpoint_id=job)
    dcp.save(state, checkpoint_id=target)


def contents(target: Path) -> Iterator[tuple[str, bytes]]:
    """The tensors by name."""
    metadata = dcp.FileSystemReader(target).read_metadata().state_dict_metadata
    state = {name: torch.empty(entry.size, dtype=entry.properties.dtype) for name, entry in metadata.items()}
    dcp.load(state, checkpoint_id=target)
    for name in sorted(state):
        yield name, state[name].numpy().tobytes()

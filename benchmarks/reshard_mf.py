"""Cutting anew with mf-ckpt."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import reshard_model

import mf_ckpt
from mf_config.layout import Mesh

VERSIONS = {"mf-ckpt": version("mf-ckpt"), "xxhash": version("xxhash")}
AFTER = {"mf": Mesh.of(tp=4, pp=2), "mindspore": Mesh.of(tp=4)}


def prepare(source: Path, form: str) -> tuple[mf_ckpt.Reader, mf_ckpt.Layout]:
    """The open checkpoint, and its layout afterwards."""
    reader = mf_ckpt.open(source)
    return reader, reshard_model.layout(reader.weights, AFTER[form])


def reshard(job: tuple[mf_ckpt.Reader, mf_ckpt.Layout], target: Path) -> None:
    """Write the pieces."""
    reader, layout = job
    mf_ckpt.transform(reader, target, layout=layout)


def contents(target: Path) -> Iterator[tuple[str, bytes]]:
    """The whole tensors again, by name."""
    reader = mf_ckpt.open(target)
    for name in sorted(reader):
        yield name, reader.raw(name).tobytes()

"""Cutting anew with MindSpore's transform_checkpoints."""

from collections.abc import Iterator
from pathlib import Path

import mindspore

from mf_ckpt.formats.mindspore_ckpt.rank_folders import open_rank_folders

VERSIONS = {"mindspore": mindspore.__version__}


def prepare(source: Path, form: str) -> Path:
    """The folder of the ranks' folders."""
    return source


def reshard(job: Path, target: Path) -> None:
    """Write rank folders."""
    strategies = [str(job.parent / name / "all_rank_0.ckpt") for name in ("strategy", "strategy_after")]
    mindspore.transform_checkpoints(str(job), str(target), "model_rank_", *strategies)


def contents(target: Path) -> Iterator[tuple[str, bytes]]:
    """The whole tensors again, by name."""
    source = open_rank_folders(target, target.parent / "strategy_after" / "all_rank_0.ckpt")
    for name in sorted(source):
        yield name, source.raw(name).tobytes()

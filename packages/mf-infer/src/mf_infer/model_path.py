"""Which checkpoint a path means."""

from pathlib import Path

import mf_ckpt
from mf_config.problems import UserError

CHECKPOINTS = "checkpoint"
"""The folder of a run's checkpoints inside its output_dir."""


def find_model(path: str | Path) -> Path:
    """The model directory that a path means; its files are checked as far as that is quick.

    Args:
        path: a Hugging Face model directory, an mf checkpoint, the folder of a run's checkpoints, or a run's
            output_dir; of a run the newest complete checkpoint is taken.
    Returns:
        A directory that `mf_ckpt.open` opens.
    Raises:
        UserError: there is no such path, or no complete checkpoint there.
    """
    path = Path(path)
    found = path if (path / "config.json").exists() else _newest(path)
    mf_ckpt.open(found)
    return found


def _newest(path: Path) -> Path:
    """The newest complete checkpoint of a run; the path itself where it does not belong to a run."""
    root = path / CHECKPOINTS if (path / CHECKPOINTS).is_dir() else path
    newest = mf_ckpt.latest(root)
    if newest is None and root != path:
        raise UserError(f"{root}: holds no complete checkpoint: nothing was saved yet, or the save was interrupted.")
    return newest or path

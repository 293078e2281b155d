"""Which checkpoints a run has, which one is meant or resumed from, and which may go."""

import math
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.formats.mindspore_ckpt.rank_folders import is_rank_folder
from mf_ckpt.store.manifest import MANIFEST, complete_manifest, is_complete
from mf_ckpt.store.staging import discard, tidy
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

RUN_FOLDER = "checkpoint"
"""Name of the folder of checkpoints in a run's output folder."""

_STEP_NAME = re.compile(r"step-\d{8,}\Z")
_Item = TypeVar("_Item")


def step_name(step: int) -> str:
    """The folder name of a run's checkpoint, such as `step-00000300`.

    Args:
        step: optimizer updates done, at least 0.
    """
    return f"step-{step:08d}"


def checkpoints(root: str | Path) -> list[Path]:
    """The complete checkpoints of a run.

    Args:
        root: the folder that holds `step-*` folders; it may be missing.

    Returns:
        Those with a sound manifest and all their files, in the order of the manifests' steps; no symbolic links.
    """
    return list(_steps(Path(root)))


def latest(root: str | Path) -> Path | None:
    """The complete checkpoint with the highest step, None where there is none."""
    found = checkpoints(root)
    return found[-1] if found else None


def find(path: str | Path) -> Path:
    """The checkpoint that a path means.

    Args:
        path: a checkpoint or Hugging Face model folder, or a file: that itself; a folder of checkpoints, or a run's
            output folder that has one named `checkpoint`: the newest complete checkpoint there, or where it holds
            MindSpore's `rank_N` folders, that folder.

    Returns:
        A path for `mf_ckpt.open`, which says what is wrong with it where it is no checkpoint.

    Raises:
        UserError: the run's folder holds no complete checkpoint.
    """
    path = Path(path)
    root = path / RUN_FOLDER if (path / RUN_FOLDER).is_dir() else path
    newest = latest(root) or (root if is_rank_folder(root) else None)
    if newest is None and root != path:
        raise UserError(f"{root}: holds no complete checkpoint: nothing was saved yet, or the save was interrupted")
    return newest or path


def resume_point(path: str | Path, resume_training: bool | str) -> Path:
    """The checkpoint that training goes on from.

    Args:
        path: a run's output folder, its folder of checkpoints, or one checkpoint.
        resume_training: True for the newest complete one, or the name of one, such as `step-00000300`.

    Returns:
        The folder of a complete checkpoint.

    Raises:
        UserError: there is none, or the named one doesn't exist or is incomplete.
    """
    path = Path(path)
    root = path / RUN_FOLDER if (path / RUN_FOLDER).is_dir() else path
    found = [folder.name for folder in checkpoints(root)]
    if isinstance(resume_training, str):
        if resume_training in found:
            return root / resume_training
        guess = nearest(resume_training, found)
        hint = f" Did you mean {guess}?" if guess else ""
        what = "is not complete" if (root / resume_training).is_dir() else "doesn't exist"
        raise UserError(
            f"resume_training: checkpoint {resume_training!r} {what} in {root}. Allowed: {name_values(found)}.{hint}"
        )
    if is_complete(root):
        return root
    if not found:
        raise CheckpointError(root, "holds no complete checkpoint, so training can't be resumed from it")
    return root / found[-1]


def plan_retirement(steps: Mapping[_Item, int], keep_last: int, keep_every: int | None = None) -> list[_Item]:
    """Which checkpoints may be deleted.

    Args:
        steps: all complete checkpoints, oldest first, and the step of each.
        keep_last: how many of the newest stay, at least 1.
        keep_every: checkpoints stay for good whose step is a multiple of this, at least 1; None for no such rule.

    Returns:
        The others, oldest first.

    Raises:
        ValueError: `keep_last` or `keep_every` is below 1.
    """
    if keep_last < 1:
        raise ValueError(f"keep_last is {keep_last}; at least one checkpoint must stay")
    if keep_every is not None and keep_every < 1:
        raise ValueError(f"keep_every is {keep_every}. Allowed: a number of steps, at least 1, or None.")
    older = list(steps)[:-keep_last]
    return [item for item in older if keep_every is None or steps[item] % keep_every]


def retire(root: str | Path, keep_last: int, keep_every: int | None = None) -> list[Path]:
    """Delete old checkpoints; call it after a save. The newest complete one always stays.

    What is incomplete, or still being written, neither counts nor is touched: an older checkpoint goes only when enough
    newer ones are complete.

    Args:
        root: the folder that holds `step-*` folders.
        keep_last: how many of the newest stay, at least 1.
        keep_every: checkpoints stay for good whose step is a multiple of this; None for no such rule.

    Returns:
        What was deleted, oldest first.

    Raises:
        ValueError: `keep_last` or `keep_every` is below 1.
    """
    doomed = plan_retirement(_steps(Path(root)), keep_last, keep_every)
    for path in doomed:
        discard(path)
    return doomed


def thin(root: str | Path, apart: timedelta) -> list[Path]:
    """Delete checkpoints that were saved too soon after one that stays. The first and the newest complete one stay.

    Args:
        root: the folder that holds `step-*` folders.
        apart: the least time between two that stay.

    Returns:
        What was deleted, oldest first.
    """
    times = {path: (path / MANIFEST).stat().st_mtime for path in checkpoints(root)}
    doomed = plan_thinning(times, apart.total_seconds())
    for path in doomed:
        discard(path)
    return doomed


def plan_thinning(times: Mapping[_Item, float], seconds: float) -> list[_Item]:
    """Which checkpoints may be deleted so that the others lie some time apart.

    Args:
        times: all complete checkpoints, oldest first, and when each was saved, in seconds.
        seconds: the least time between two that stay; the newest one stays in any case.

    Returns:
        Those that may go, oldest first.
    """
    doomed, last = [], -math.inf
    for item, time in list(times.items())[:-1]:
        if time < last + seconds:
            doomed.append(item)
        else:
            last = time
    return doomed


def clean(root: str | Path) -> list[Path]:
    """Put right what crashed saves left behind; call it when a run starts, before `latest`.

    Hidden folders of unfinished saves and deletions are removed. A complete checkpoint that a crash kept from taking
    its empty place takes it now. Saves in progress in other processes are left alone, where the file system has locks.

    Args:
        root: the folder that holds `step-*` folders; it may be missing.

    Returns:
        The hidden folders dealt with.
    """
    root = Path(root)
    return tidy(root) if root.is_dir() else []


def _steps(root: Path) -> dict[Path, int]:
    """The complete checkpoints below a folder and their steps, in the order of the steps."""
    folders = [path for path in root.iterdir() if _STEP_NAME.match(path.name)] if root.is_dir() else []
    found = {path: complete_manifest(path) for path in folders if not path.is_symlink()}
    # A checkpoint that knows no step, put here by hand, counts as the oldest.
    steps = {path: manifest.step or 0 for path, manifest in found.items() if manifest is not None}
    return dict(sorted(steps.items(), key=lambda item: (item[1], item[0].name)))

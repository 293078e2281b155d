"""A run goes on from files that are what was saved, or from those of the checkpoint before."""

import logging
from pathlib import Path

import mf_ckpt
from mf_config.problems import UserError

_log = logging.getLogger(__name__)


def sound_or_before(path: Path, may_go_back: bool) -> Path:
    """The checkpoint itself, or the newest one before it whose content is what was saved. All its files are read.

    Args:
        path: a complete checkpoint of a run.
        may_go_back: whether one before may take its place.
    Raises:
        UserError: it is damaged, and none takes its place.
    """
    older = mf_ckpt.checkpoints(path.parent)
    candidates = [path, *reversed(older[: older.index(path)])] if may_go_back and path in older else [path]
    for candidate in candidates:
        findings = mf_ckpt.verify(candidate)
        if not findings:
            return candidate
        _log.error("%s can't be resumed: it is damaged: %s", candidate, findings[0])
    raise UserError(
        f"{path}: is damaged, so training can't be resumed from it. Allowed: another checkpoint; "
        f"mf-ckpt verify {path} names every fault."
    )

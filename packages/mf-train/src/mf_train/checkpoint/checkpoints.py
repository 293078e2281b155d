"""Saves and restores the whole state of a run as an mf checkpoint."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import mf_ckpt
from mf_ckpt import remote
from mf_ckpt.formats.mindspore_ckpt.rank_folders import is_rank_folder
from mf_config import RunConfig
from mf_config.problems import UserError
from mf_train.checkpoint.run_state import SavedState
from mf_train.records.output import OutputFolder

_log = logging.getLogger(__name__)

STATE_KEYS = ("counters", "total_steps", "loss_scale", "data")
"""What trainer_state.json holds."""


@dataclass(frozen=True, slots=True)
class Companions:
    """What goes into every checkpoint beside tensors and state.

    Attributes:
        model_config: the family's configuration.
        layout: which rank holds what.
        files: name to content of further files: the tokenizer, so that a checkpoint can be used by itself, and the
            run configuration.
        types: stored name of each weight to the element type in which it is stored; that of its array for others.
    """

    model_config: Any
    layout: mf_ckpt.Layout
    files: Mapping[str, bytes]
    types: Mapping[str, str]


class RunCheckpoints:
    """The checkpoints of a run, in one folder.

    As a context manager it waits at its end for the save that is under way.
    """

    def __init__(self, root: Path, state: SavedState, companions: Companions, upload_url: str | None = None):
        """Takes the folder, the tensors that are kept, what is saved with them, and where copies go, if anywhere."""
        self._root = root
        self._state = state
        self._companions = companions
        self._upload_url = upload_url
        self._saver = mf_ckpt.BackgroundSaver()

    def __enter__(self) -> "RunCheckpoints":
        """The checkpoints themselves."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the save under way; nothing can be saved in the background afterwards."""
        self._saver.__exit__(kind, error, trace)

    def wait(self) -> None:
        """Wait until the save under way is complete; raises what it failed with."""
        self._saver.wait()

    def save(self, step: int, state: Mapping[str, Any], keep: int, in_background: bool) -> Path:
        """Write a checkpoint; it is complete or not there at all.

        Args:
            step: steps done.
            state: content of trainer_state.json, with all `STATE_KEYS`.
            keep: complete checkpoints to keep, newest first; 0 keeps all.
            in_background: copy the state, and write while the run goes on.
        Returns:
            Its folder, which is there later where the save is in the background.
        Raises:
            OSError: it can't be written.
            Exception: what the save before this one failed with.
        """
        folder = self._root / mf_ckpt.step_name(step)
        then = partial(self._after_save, keep=keep)
        if in_background:
            with self._saver.save(folder, step=step, then=then) as snapshot:
                self._fill(snapshot, state)
            return folder
        self._saver.wait()
        try:
            with mf_ckpt.Writer(folder, step=step) as writer:
                self._fill(writer, state)
        except OSError as error:
            # What a full disk raises doesn't say where.
            raise OSError(error.errno, f"{folder} is not saved: {error.strerror}") from error
        then(folder)
        return folder

    def take_part(self) -> None:
        """Hand this process's pieces to the process that saves; each other process calls it when that one saves."""
        for _ in self._state.tensors():
            pass

    def _fill(self, target: mf_ckpt.Writer | mf_ckpt.Snapshot, state: Mapping[str, Any]) -> None:
        companions = self._companions
        for slot, name, array in self._state.tensors():
            if slot:
                target.add_optimizer(f"{slot}.{name}", array)
            else:
                target.add(name, array, companions.types.get(name))
        target.add_json("config.json", companions.model_config.to_hf())
        target.add_json("layout.json", companions.layout.to_json())
        target.add_json("trainer_state.json", state)
        for name, content in {**companions.files, **self._state.files()}.items():
            target.add_file(name, content)

    def _after_save(self, folder: Path, keep: int) -> None:
        _log.info("saved %s", folder)
        if keep:
            mf_ckpt.retire(self._root, keep)
        if self._upload_url is None:
            return
        try:
            remote.upload(folder, self._upload_url)
        except OSError as error:
            # The checkpoint is safe here; a network that fails for a while must not end the run.
            _log.error("remote_save_url: %s is not uploaded: %s", folder.name, error)

    def resume(self, path: Path) -> Mapping[str, Any]:
        """Restore weights and optimizer state.

        Args:
            path: a checkpoint of a run.
        Returns:
            Its trainer_state.json.
        Raises:
            UserError: the checkpoint is incomplete, does not fit, or was not saved by a training run.
        """
        reader = mf_ckpt.open(path)
        state, expected = reader.trainer_state or {}, self._state.slot_tensors()
        missing = [f"{key} in its trainer_state.json" for key in STATE_KEYS if key not in state]
        missing += [f"{name} in its optimizer state" for name in expected if name not in reader.optimizer]
        if missing:
            what = f"has no {missing[0]}, so training can't be resumed from it"
            raise UserError(f"{path}: {what}. Allowed: a checkpoint of this run.")
        self._state.restore(reader)
        return state


def find_checkpoint(load_checkpoint: str | None, resume_training: bool | str, output_dir: Path) -> Path:
    """The checkpoint that a run starts from.

    Args:
        load_checkpoint: a checkpoint or model folder or file, or a folder of checkpoints (a run's `checkpoint` or its
            output folder), whose newest complete one is taken; None for the newest one of the run itself.
        resume_training: whether training goes on from it, or the name of the one to go on from.
        output_dir: where the run writes.
    Raises:
        UserError: there is none.
    """
    if load_checkpoint is not None:
        if not Path(load_checkpoint).exists():
            raise UserError(f"load_checkpoint: no file or folder {load_checkpoint!r}. Allowed: a checkpoint.")
        if resume_training:
            return mf_ckpt.resume_point(load_checkpoint, resume_training)
        return mf_ckpt.find(load_checkpoint)
    newest = mf_ckpt.latest(OutputFolder(output_dir).checkpoints)
    if newest is None:
        raise UserError(
            f"resume_training: True, but {output_dir} holds no complete checkpoint and there is no load_checkpoint. "
            "Allowed: False, or the folder of the run to go on with as output_dir or load_checkpoint."
        )
    return newest


def strategy_for(path: Path, config: RunConfig) -> str | None:
    """What says how a checkpoint is cut, where that lies apart from it.

    Args:
        path: the checkpoint.
        config: the run configuration.
    Returns:
        `src_strategy_path_or_dir`; None where it isn't set, or where the checkpoint itself says how it is cut.
    """
    strategy = config.src_strategy_path_or_dir
    if strategy is None or is_rank_folder(path):
        return strategy
    _log.warning("src_strategy_path_or_dir: has no effect, for %s has no folders rank_N", path)
    return None


def upload_url(remote_save_url: str | None) -> str | None:
    """Where a run copies its checkpoints to.

    Args:
        remote_save_url: the configured value. Published files have a sentence here that asks the reader to fill it in.
    Returns:
        The address; None where there is none.
    Raises:
        UserError: nothing that is installed can reach it.
    """
    if remote_save_url is None:
        return None
    if "://" not in remote_save_url:
        _log.info("remote_save_url: %r is no address, so checkpoints stay in output_dir", remote_save_url)
        return None
    remote.check_url(remote_save_url, "remote_save_url")
    return remote_save_url

"""Saves and restores the whole state of a run as an mf checkpoint."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindspore import Tensor, nn

import mf_ckpt
from mf_config.problems import UserError
from mf_models.registry import family_of
from mf_models.weights import assign, to_checkpoint_names
from mf_train.output import OutputFolder
from mf_train.update import ParameterUpdate

_log = logging.getLogger(__name__)

STATE_KEYS = ("counters", "total_steps", "loss_scale", "data")
"""What trainer_state.json holds."""


@dataclass(frozen=True, slots=True)
class Companions:
    """What goes into every checkpoint beside tensors and state.

    Attributes:
        model_config: the family's configuration.
        layout: content of layout.json.
        files: name to content of further files: the tokenizer, so that a checkpoint can be used by itself, and the
            run configuration.
    """

    model_config: Any
    layout: Mapping[str, Any]
    files: Mapping[str, bytes]


class RunCheckpoints:
    """The checkpoints of a run, in one folder."""

    def __init__(self, root: Path, model: nn.Cell, update: ParameterUpdate, companions: Companions):
        """Takes the folder, the cells whose state is kept, and what is saved with it."""
        self._root = root
        self._model = model
        self._update = update
        self._companions = companions

    def save(self, step: int, state: Mapping[str, Any], keep: int) -> Path:
        """Write a checkpoint; it is complete or not there at all.

        Args:
            step: steps done.
            state: content of trainer_state.json, with all `STATE_KEYS`.
            keep: complete checkpoints to keep, newest first; 0 keeps all.
        Returns:
            Its folder.
        """
        folder = self._root / mf_ckpt.step_name(step)
        companions = self._companions
        with mf_ckpt.Writer(folder, step=step) as writer:
            for name, array in to_checkpoint_names(companions.model_config, self._model):
                writer.add(name, array)
            for name, parameter in self._slots().items():
                writer.add_optimizer(name, parameter.asnumpy())
            writer.add_json("config.json", companions.model_config.to_hf())
            writer.add_json("layout.json", companions.layout)
            writer.add_json("trainer_state.json", state)
            for name, content in companions.files.items():
                writer.add_file(name, content)
        if keep:
            mf_ckpt.retire(self._root, keep)
        _log.info("saved %s", folder)
        return folder

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
        state, slots = reader.trainer_state or {}, self._slots()
        missing = [*(key for key in STATE_KEYS if key not in state), *sorted(set(slots) - set(reader.optimizer))]
        if missing:
            what = f"has no {missing[0]} in its " + ("optimizer state" if missing[0] in slots else "trainer_state.json")
            raise UserError(f"{path}: {what}, so training can't be resumed from it. Allowed: a checkpoint of this run.")
        assign(self._companions.model_config, self._model, reader, str(path))
        for name, parameter in slots.items():
            parameter.set_data(Tensor(reader.optimizer[name].copy()))
        return state

    def _slots(self) -> dict[str, Any]:
        """Stored name of each optimizer tensor to its parameter, `adam_m.model.layers.0…`."""
        key_map = family_of(self._companions.model_config).key_map(self._companions.model_config)
        return {
            f"{slot}.{key_map.forward(parameter.name)}": held
            for slot, tensors in self._update.slots.items()
            for parameter, held in zip(self._update.parameters, tensors, strict=True)
        }


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

"""The tensors of a run that a checkpoint keeps: weights and optimizer state, of which each process may hold pieces."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np
from mindspore import Parameter, Tensor
from numpy.typing import NDArray

import mf_ckpt
from mf_ckpt.sources.renamed import RenamedSource
from mf_models.model_config import ModelConfig
from mf_models.weights import fitting, in_cell_form, stored_shapes, to_stored_form
from mf_train.layout.division import Division
from mf_train.step.sharded_update import ShardedUpdate
from mf_train.step.update import ParameterUpdate

Tensors = Iterator[tuple[str, str, NDArray[np.float32]]]
"""Slot (empty for a weight), stored name and values of each tensor."""


class SavedState(Protocol):
    """What a checkpoint keeps of a run, and takes it back from."""

    def tensors(self) -> Tensors:
        """Every tensor, one at a time; all processes go through them together."""

    def files(self) -> Mapping[str, bytes]:
        """Weights in files of their own: name to content. Only the process that saves asks for them."""

    def slot_tensors(self) -> list[str]:
        """What the tensors of the optimizer's state are called in a checkpoint."""

    def restore(self, reader: mf_ckpt.Reader) -> None:
        """Take everything from a checkpoint that has all `slot_tensors`.

        Raises:
            UserError: its weights don't fit.
        """


class RunState:
    """All weights and their optimizer state, under the names and in the form of Hugging Face; see `SavedState`.

    The state of an optimizer that needs whole parameters keeps the names and the form of the cells: it has tensors of
    other shapes than the weights, of which the form of Hugging Face may join several.
    """

    def __init__(
        self,
        config: ModelConfig,
        weights: Mapping[str, Parameter],
        update: ParameterUpdate | ShardedUpdate,
        division: Division,
    ):
        """Takes the configuration, what this process holds by name, the optimizer, and how all is divided."""
        self._config = config
        self._weights = weights
        self._update = update
        self._division = division

    def tensors(self) -> Tensors:
        """See `SavedState.tensors`."""
        for name, array in to_stored_form(self._config, self._division.weights.whole(self._weights)):
            yield "", name, array
        for slot, held in self._update.slots.items():
            for name, array in self._in_stored_form(held):
                yield slot, name, array

    def files(self) -> Mapping[str, bytes]:
        """See `SavedState.files`: there are none."""
        return {}

    def slot_tensors(self) -> list[str]:
        """See `SavedState.slot_tensors`."""
        return [f"{slot}.{name}" for slot, held in self._update.slots.items() for name in self._names(held)]

    def restore(self, reader: mf_ckpt.Reader) -> None:
        """See `SavedState.restore`."""
        config, shapes = self._config, self._division.shapes
        self._division.weights.fill(self._weights, fitting(config, shapes, reader, str(reader.path)).read)
        for slot, held in self._update.slots.items():
            source = RenamedSource(reader.optimizer, {name: f"{slot}.{name}" for name in self._names(held)})
            if self._update.needs_whole:
                for name, tensor in held.items():
                    tensor.set_data(Tensor(source[name].copy()))
            else:
                self._division.slots.fill(held, in_cell_form(config, shapes, source).read)

    def _in_stored_form(self, held: Mapping[str, Parameter]) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Name and values of each tensor of a slot."""
        if self._update.needs_whole:
            return ((name, tensor.asnumpy()) for name, tensor in held.items())
        return to_stored_form(self._config, self._division.slots.whole(held))

    def _names(self, held: Mapping[str, Parameter]) -> list[str]:
        """What the tensors of a slot are called behind its own name."""
        return list(held if self._update.needs_whole else stored_shapes(self._config, self._division.shapes))

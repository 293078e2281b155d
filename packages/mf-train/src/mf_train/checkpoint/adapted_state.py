"""What a checkpoint keeps of a run that trains few weights beside many frozen ones: those, and where the others lie."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mindspore import Parameter, Tensor

import mf_ckpt
from mf_models.adaptation import Adaptation
from mf_train.checkpoint.run_state import Tensors
from mf_train.step.update import ParameterUpdate


class AdaptedState:
    """The trained weights as the files of an adapter, and their optimizer state; see `SavedState` of `run_state`.

    The frozen weights are not copied: the adapter's files say where they lie.
    """

    def __init__(
        self,
        adaptation: Adaptation,
        update: ParameterUpdate,
        base: Callable[[], Path],
        load_base: Callable[[mf_ckpt.Reader], None],
    ):
        """Takes the parts.

        Args:
            adaptation: the trained weights.
            update: the optimizer.
            base: gives the place of the frozen weights.
            load_base: takes the frozen weights from a checkpoint.
        """
        self._adaptation = adaptation
        self._update = update
        self._base = base
        self._load_base = load_base

    def tensors(self) -> Tensors:
        """See `SavedState.tensors`: the optimizer's state, under the names of the parameters."""
        for slot, name, held in self._states():
            yield slot, name, held.asnumpy()

    def files(self) -> Mapping[str, bytes]:
        """See `SavedState.files`: those of an adapter."""
        return self._adaptation.files(str(self._base()))

    def slot_tensors(self) -> list[str]:
        """See `SavedState.slot_tensors`."""
        return [f"{slot}.{name}" for slot, name, _ in self._states()]

    def restore(self, reader: mf_ckpt.Reader) -> None:
        """See `SavedState.restore`."""
        self._load_base(reader)
        self._adaptation.load(reader.path)
        for slot, name, held in self._states():
            held.set_data(Tensor(reader.optimizer[f"{slot}.{name}"].copy()))

    def _states(self) -> Iterator[tuple[str, str, Parameter]]:
        """Each tensor of the optimizer's state, with its slot and the name of the parameter that it belongs to."""
        for slot, tensors in self._update.slots.items():
            for name, held in tensors.items():
                yield slot, name, held

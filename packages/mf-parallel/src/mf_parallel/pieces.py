"""The pieces of a network's weights that one rank holds: how they are filled, and how they become whole again."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor
from numpy.typing import NDArray

from mf_config.layout import TensorLayout
from mf_parallel.axes import AxisCommunicators
from mf_parallel.plan import ParallelPlan

Array = NDArray[np.float32]
Reader = Callable[[str, tuple[slice, ...]], NDArray[Any]]
"""`read(name, slices)` gives a part of a whole tensor, float32."""


class Pieces:
    """What one rank holds, by the names of the parameters.

    Attributes:
        plan: the layout of the whole network.
        held: names of this rank's parameters, in the network's order.
    """

    def __init__(self, plan: ParallelPlan, axes: AxisCommunicators):
        """Takes the plan and this rank's place."""
        self.plan = plan
        self.held = plan.held(axes.rank)
        self._rank = axes.rank
        self._everyone = axes.everyone

    @property
    def are_whole(self) -> bool:
        """Whether every rank has all of every tensor."""
        mesh = self.plan.mesh
        divided = {axis for parameter in self.plan.parameters.values() for axis in parameter.axes}
        return all(mesh.degree(axis) == 1 for axis in {"pp", *divided})

    def fill(self, parameters: Mapping[str, Parameter], read: Reader) -> None:
        """Give parameters this rank's pieces, of which they take the shapes.

        Args:
            parameters: some that are held, by name; weights or a slot of the optimizer.
            read: gives the values.
        """
        for name, parameter in parameters.items():
            parameter.set_data(Tensor(self.piece(name, read)), slice_shape=True)

    def piece(self, name: str, read: Reader) -> Array:
        """This rank's piece of one tensor; rows that only pad it are zeros.

        Args:
            name: the parameter.
            read: gives the values.
        """
        layout = self._layout(name)
        local = np.zeros(layout.local_shape(self.plan.mesh, self._rank), np.float32)
        for box in layout.boxes(self.plan.mesh, self._rank):
            local[box.local] = read(name, box.whole)
        return local

    def whole(self, tensors: Mapping[str, Any]) -> Mapping[str, Any]:
        """The whole tensors of all ranks, which read the same ones in the same order.

        Args:
            tensors: this rank's pieces by name, with a method `asnumpy`.

        Returns:
            Name to an object with a method `asnumpy`; nothing is sent where every rank has all.
        """
        return tensors if self.are_whole else WholeTensors(self, tensors)

    def join(self, name: str, tensor: Any | None) -> Array:
        """One whole tensor; all ranks call this together, those that hold nothing of it with None."""
        layout, mesh = self._layout(name), self.plan.mesh
        whole = np.zeros(layout.shape, np.float32)
        # Of all copies of a piece the first counts, so that each element of the sum has one term and is exact.
        if tensor is not None and self._rank in self._first_holders(name, layout):
            local = array_of(tensor)
            for box in layout.boxes(mesh, self._rank):
                whole[box.whole] = local[box.local]
        return self._everyone.all_reduce_sum(whole.reshape(-1)).reshape(layout.shape)

    def _first_holders(self, name: str, layout: TensorLayout) -> set[int]:
        mesh, stage = self.plan.mesh, self.plan.parameters[name].stages[0]
        dividing = {division.axis for division in layout.divisions}
        copies = [axis for axis in mesh.axes if axis not in dividing and axis != "pp"]
        return {group[0] for group in mesh.groups(copies) if mesh.coordinates(group[0]).get("pp", 0) == stage}

    def _layout(self, name: str) -> TensorLayout:
        return self.plan.parameters[name].layout


def array_of(tensor: Any) -> NDArray[Any]:
    """The values of a tensor, or of an object with a method `asnumpy`; bfloat16, which NumPy lacks, as float32."""
    if getattr(tensor, "dtype", None) == ms.bfloat16:
        tensor = tensor.astype(ms.float32)
    values: NDArray[Any] = tensor.asnumpy()
    return values


class WholeTensors(Mapping[str, "WholeTensor"]):
    """Whole tensors by name, each put together when it is read; all ranks read the same ones in the same order."""

    def __init__(self, pieces: Pieces, tensors: Mapping[str, Any]):
        """Takes what is held, and the tensors of this rank."""
        self._pieces = pieces
        self._tensors = tensors

    def __getitem__(self, name: str) -> "WholeTensor":
        """The tensor of one name."""
        return WholeTensor(self._pieces, name, self._tensors.get(name))

    def __iter__(self) -> Iterator[str]:
        """All names, also those of other ranks."""
        return iter(self._pieces.plan.parameters)

    def __len__(self) -> int:
        """Number of tensors."""
        return len(self._pieces.plan.parameters)


class WholeTensor:
    """A tensor whose pieces lie on several ranks."""

    def __init__(self, pieces: Pieces, name: str, tensor: Any | None):
        """Takes what is held, the name, and this rank's piece, None where it has none."""
        self._pieces = pieces
        self._name = name
        self._tensor = tensor

    def asnumpy(self) -> Array:
        """Its values, on every rank."""
        return self._pieces.join(self._name, self._tensor)

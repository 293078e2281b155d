"""What a task is: how rows become a model's input and targets, and the loss of each target.

The tasks themselves stand in `mf_train.tasks`, one module each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@dataclass(frozen=True, slots=True)
class Examples:
    """A batch as the loss takes it. B rows, T tokens.

    Attributes:
        input_ids_BT: int32, what the model reads.
        labels_BT: int32, what it should say after each token; a valid id even where the weight is 0.
        weights_BT: float32, 1 where the label counts and 0 where it is masked.
    """

    input_ids_BT: NDArray[np.int32]
    labels_BT: NDArray[np.int32]
    weights_BT: NDArray[np.float32]

    def split(self, parts: int) -> list["Examples"]:
        """Equal parts of the rows, in order.

        Args:
            parts: how many; divides the number of rows.
        """
        rows, rest = divmod(len(self.input_ids_BT), parts)
        assert rest == 0, f"{len(self.input_ids_BT)} rows in {parts} parts"
        pieces = [slice(first, first + rows) for first in range(0, rows * parts, rows)]
        return [Examples(self.input_ids_BT[own], self.labels_BT[own], self.weights_BT[own]) for own in pieces]


class Task(Protocol):
    """What every trainer's section has."""

    def examples(self, rows: dict[str, NDArray[np.int32]], ignore_id: int) -> Examples:
        """Turn rows into input, targets and weights.

        Args:
            rows: columns of the data set, [rows, ...] each.
            ignore_id: a label with this id does not count.
        """

    def objective(self, kernels: "Kernels") -> Callable[..., Any]:
        """The loss as a function that graph code may call.

        Returns:
            `losses(model, input_ids_BT, labels_BT) -> losses_BT`, float32, in nats, neither weighted nor averaged.
        """

"""What a task is: how rows become a model's input and targets, and the loss of each target.

The tasks themselves stand in `mf_train.tasks`, one module each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the kernels need.
    from mf_models.kernels import Kernels


@dataclass(frozen=True, slots=True)
class Examples:
    """A batch as the loss takes it, NumPy arrays or tensors on the device. B rows, T tokens.

    Attributes:
        input_ids_BT: int32, what the model reads.
        labels_BT: int32, what it should say after each token; a valid id even where the weight is 0.
        weights_BT: float32, 1 where the label counts and 0 where it is masked.
        document_starts_BT: int32, where in its row the document of each token begins, which sees no other document;
            None where every row is one document.
    """

    input_ids_BT: NDArray[np.int32]
    labels_BT: NDArray[np.int32]
    weights_BT: NDArray[np.float32]
    document_starts_BT: NDArray[np.int32] | None = None

    def split(self, parts: int) -> list["Examples"]:
        """Equal parts of the rows, in order.

        Args:
            parts: how many; divides the number of rows.
        """
        rows, rest = divmod(len(self.input_ids_BT), parts)
        assert rest == 0, f"{len(self.input_ids_BT)} rows in {parts} parts"
        pieces = [slice(first, first + rows) for first in range(0, rows * parts, rows)]
        starts_BT = self.document_starts_BT
        return [
            Examples(
                self.input_ids_BT[own],
                self.labels_BT[own],
                self.weights_BT[own],
                None if starts_BT is None else starts_BT[own],
            )
            for own in pieces
        ]

    def tokens(self, places: Sequence[int]) -> "Examples":
        """Some tokens of each row.

        Args:
            places: where they stand in their rows.
        """
        starts_BT = self.document_starts_BT
        return Examples(
            self.input_ids_BT[:, places],
            self.labels_BT[:, places],
            self.weights_BT[:, places],
            None if starts_BT is None else starts_BT[:, places],
        )


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
            `losses(model, input_ids_BT, labels_BT, document_starts_BT) -> (losses_BT, added)`: float32, in nats,
            neither weighted nor averaged, and what the network adds to their mean, see
            `mf_models.layers.causal_lm.CausalLanguageModel.hidden_and_losses`. `document_starts_BT` is None where every
            row is one document.
        """

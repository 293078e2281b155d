"""What one process alone knows of a step: the loss of its rows, and the gradients as it holds them."""

from collections.abc import Sequence

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

from mf_parallel.tensor_tuples import each


class OwnFigures(nn.Cell):
    """Keeps these numbers of the last step in tensors that the host can read, for runs that record them."""

    def __init__(self, names: Sequence[str]):
        """Takes the names of the trained parameters, in the order of their gradients."""
        super().__init__(auto_prefix=False)
        self.names = tuple(names)
        self.rows = _tensor("rows", 2)
        self.norms = _tensor("gradient_norms", len(self.names))

    def construct(self, loss_sum: Tensor, token_count: Tensor, gradients: tuple[Tensor, ...], factor: Tensor) -> Tensor:
        """Keep the numbers; make the step's output depend on the result.

        Args:
            loss_sum: [], of this process's targets that count.
            token_count: [], their number.
            gradients: any multiple of those of the mean loss of all processes; pieces where they are divided.
            factor: [], by which they are those of the mean loss.
        """
        kept = ops.assign(self.norms, ops.sqrt(ops.stack(each(_sum_of_squares, gradients))) * factor)
        return ops.depend(ops.assign(self.rows, ops.stack((loss_sum, token_count))), kept)

    @property
    def loss(self) -> float | None:
        """Mean loss of the last step's rows of this process, in nats; None where no target of them counted."""
        loss_sum, tokens = self.rows.asnumpy().tolist()
        return loss_sum / tokens if tokens else None

    @property
    def gradient_norms(self) -> dict[str, float]:
        """Name of each trained parameter to the norm of its gradient in the last step, before clipping."""
        return dict(zip(self.names, self.norms.asnumpy().tolist(), strict=True))


def _sum_of_squares(gradient: Tensor) -> Tensor:
    return ops.square(gradient.astype(ms.float32)).sum()


def _tensor(name: str, length: int) -> Parameter:
    return Parameter(Tensor(np.zeros(length, np.float32)), name=f"own.{name}", requires_grad=False)

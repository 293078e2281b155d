"""An optimizer whose state is divided among ranks that hold the same weights: each updates its rows of them.

Legend: R rows of a weight, N ranks.
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, mint, nn, ops

from mf_parallel.buckets import plan_buckets
from mf_parallel.collectives import AllGather, Communicator, Part
from mf_parallel.gradients import BUCKET_BYTES, Message
from mf_parallel.tensor_tuples import each, flattened, picked
from mf_train.step.masters import MASTER, has_master, renewed
from mf_train.step.rate_kinds import RateKind
from mf_train.step.update import ParameterUpdate

_FLOAT32_BYTES = 4

PIECE = "piece."
"""What the name of a rank's rows begins with, before that of the parameter."""


class ShardedUpdate(nn.Cell):
    """The same for its callers as `mf_train.step.update.ParameterUpdate`, with slots that are pieces.

    Source: Rajbhandari et al. 2020, ZeRO, section 5.1.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        is_divided: Sequence[bool],
        communicator: Communicator,
        update_of: Callable[[list[Parameter]], ParameterUpdate],
        takes_pieces: bool,
    ):
        """Fixes who updates what.

        Args:
            parameters: the trained parameters, [R, ...] each.
            is_divided: for each whether its rows are divided; N divides R then.
            communicator: the ranks that divide them.
            update_of: makes the optimizer of the parameters and pieces that this rank updates.
            takes_pieces: whether gradients come as pieces, see `mf_parallel.gradient_shares`.
        """
        super().__init__(auto_prefix=False)
        self.parameters = ParameterTuple(parameters)
        self.is_divided = tuple(is_divided)
        self.update = update_of(
            [
                _piece_of(parameter, communicator.size) if divided else parameter
                for parameter, divided in zip(parameters, is_divided, strict=True)
            ]
        )
        self.targets = self.update.targets
        self.takes_pieces = takes_pieces
        self.part = Part(communicator, 0)
        self.gather = AllGather(communicator, 0)
        self.ranks = communicator.size
        self.sizes = tuple(math.prod(target.shape) for target in self.targets)
        self.messages = tuple(self._messages())

    @property
    def slots(self) -> dict[str, dict[str, Parameter]]:
        """As of `mf_train.step.update.ParameterUpdate`, pieces where the parameter is divided."""
        names = {own.name: whole.name for own, whole in zip(self.update.parameters, self.parameters, strict=True)}
        found = {
            slot: {names[own]: tensor for own, tensor in tensors.items()} for slot, tensors in self.update.slots.items()
        }
        # Pieces are float32, so that those of coarser weights are masters.
        masters = {
            whole.name: target for whole, target in zip(self.parameters, self.targets, strict=True) if has_master(whole)
        }
        return found | {MASTER: masters} if masters else found

    @property
    def rate_kinds(self) -> tuple[RateKind, ...]:
        """As of `mf_train.step.update.ParameterUpdate`."""
        return self.update.rate_kinds

    @property
    def needs_whole(self) -> bool:
        """As of `mf_train.step.update.ParameterUpdate`."""
        return self.update.needs_whole

    def construct(self, gradients: tuple[Tensor, ...], update: Tensor, learning_rate: Tensor) -> tuple[Tensor, ...]:
        """Change every parameter and this rank's slots in place.

        Args:
            gradients: one a parameter, shaped like it or like its piece.
            update: scalar float32, number of this update, 1 for the first.
            learning_rate: as for `mf_train.step.update.ParameterUpdate`.
        Returns:
            Tensors that depend on the changes: make the step's output depend on them.
        """
        own = each(self.own, gradients, self.targets, self.parameters, self.is_divided)
        done: tuple[Tensor, ...] = self.update(own, update, learning_rate)
        last = done[0]
        for positions, starts, stops in self.messages:
            flat = each(_flat_after, picked(self.targets, positions), picked(done, positions))
            # Nothing else orders the messages, and ranks that send them in different orders would wait forever.
            last = self.gather(ops.depend(mint.cat(flat), last))
            rows_NX = last.reshape((self.ranks, -1))
            done = done + each(ops.partial(_put, rows_NX), picked(self.parameters, positions), starts, stops)
        return done

    def own(self, gradient: Tensor, target: Parameter, parameter: Parameter, is_divided: bool) -> Tensor:
        """The gradient of what this rank updates."""
        if not is_divided:
            return gradient
        # The weights themselves are the truth: they may have been loaded since the last step.
        taken = ops.assign(target, renewed(target, self.part(parameter)))
        return ops.depend(gradient if self.takes_pieces else self.part(gradient), taken)

    def _messages(self) -> list[Message]:
        """Which pieces travel together: their positions, and where each starts and ends in a rank's message."""
        divided = [index for index, is_divided in enumerate(self.is_divided) if is_divided]
        found = []
        for bucket in plan_buckets([self.sizes[index] for index in divided], BUCKET_BYTES // _FLOAT32_BYTES):
            positions = tuple(divided[position] for position in bucket)
            bounds = tuple(accumulate((self.sizes[position] for position in positions), initial=0))
            found.append((positions, bounds[:-1], bounds[1:]))
        return found


def _flat_after(target: Parameter, done: Tensor) -> Tensor:
    return flattened(ops.depend(target, done))


def _put(rows_NX: Tensor, parameter: Parameter, start: int, stop: int) -> Tensor:
    """Change a parameter to what all ranks have of it in a message."""
    return ops.assign(parameter, rows_NX[:, start:stop].reshape(parameter.shape).astype(parameter.dtype))


def _piece_of(parameter: Parameter, ranks: int) -> Parameter:
    """Room for this rank's rows; they are taken from the whole before each update."""
    rows, *others = parameter.shape
    return Parameter(Tensor(np.zeros((rows // ranks, *others), np.float32)), name=f"{PIECE}{parameter.name}")

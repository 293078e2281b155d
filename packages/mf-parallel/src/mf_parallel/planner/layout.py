"""Everything that decides what a step takes, besides the device: the network, how it is divided, and the rows."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from mf_parallel.pipeline import schedule
from mf_parallel.plan import ParallelPlan
from mf_parallel.planner.network import BlockWork, NetworkWork, Shape
from mf_parallel.rules import Role
from mf_parallel.stages import Part


class BackEnd(Enum):
    """Who executes a layout."""

    EXPLICIT = "explicit"
    """mf itself. A pipeline keeps only what enters its parts, and computes each forward pass but that of the last part
    once more; weights are whole on all data-parallel ranks."""

    MINDSPORE = "mindspore"
    """MindSpore's own parallelism, as MindFormers uses it. A pipeline keeps what its backward passes need; weights and
    gradients are divided as the optimizer's state is."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The blocks of which something is computed again in the backward pass.

    Attributes:
        whole: the whole block.
        products: `BlockWork.product`.
        norms: `BlockWork.normed`.
    """

    whole: frozenset[int] = frozenset()
    products: frozenset[int] = frozenset()
    norms: frozenset[int] = frozenset()


def two_moments(shape: Shape) -> int:
    """Elements that Adam keeps of a parameter."""
    return 2 * math.prod(shape)


class PieceSize(NamedTuple):
    """Elements on one rank of one parameter, or of several.

    Attributes:
        whole: of its weight.
        own: of that, what the rank itself updates: its share where the optimizer's state is divided.
        kept: of the optimizer's state.
        copied: of weights that are updated apart, because they are shared.
    """

    whole: int
    own: int
    kept: int
    copied: int


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A divided network and its step.

    Attributes:
        network: the network.
        weights: the layout of `network.shapes_of_kinds`.
        optimizer: that of the optimizer's state.
        divides_gradients: whether gradients are divided as that state is.
        kept_by_optimizer: shape of a piece to the float32 elements that the optimizer keeps of it; Adam's moments by
            default.
        rows: rows of a micro batch on one rank.
        micro_batches: micro batches of a step.
        exchanging: ranks of `cp` that exchange heads; the others gather keys.
        recomputed: what is computed again.
        scheduler: order of a pipeline, see `mf_parallel.pipeline.schedule`.
        back_end: who executes it.
    """

    network: NetworkWork
    weights: ParallelPlan
    optimizer: ParallelPlan
    divides_gradients: bool = False
    kept_by_optimizer: Callable[[Shape], int] = two_moments
    rows: int = 1
    micro_batches: int = 1
    exchanging: int = 1
    recomputed: Recomputed = Recomputed()
    scheduler: str = "1f1b"
    back_end: BackEnd = BackEnd.EXPLICIT

    def degree(self, axis: str) -> int:
        """Ranks along an axis of the mesh."""
        return self._degrees[axis]

    @cached_property
    def _degrees(self) -> dict[str, int]:
        return dict(zip(self.weights.mesh.axes, self.weights.mesh.degrees, strict=True))

    @property
    def stages(self) -> int:
        """Pipeline stages."""
        return self.weights.split.stages

    @property
    def chunks(self) -> int:
        """Parts of the network that each stage has."""
        return len(self.weights.split.chunks)

    @property
    def devices(self) -> int:
        """Ranks of the job."""
        return self.weights.mesh.size

    @property
    def tokens(self) -> int:
        """Tokens of a micro batch on one rank: those of its rows that no other rank of `cp` has."""
        return self.rows * self.network.row_length // self.degree("cp")

    @property
    def tokens_per_step(self) -> int:
        """Tokens of a step over all ranks."""
        replicas = self.degree("dp") * self.degree("ep")
        return self.rows * self.network.row_length * self.micro_batches * replicas

    @property
    def pipeline(self) -> schedule.Shape:
        """How large the pipeline is."""
        return schedule.Shape(self.stages, self.chunks, self.micro_batches)

    @property
    def repeats_forward(self) -> bool:
        """Whether forward passes are computed once more in the backward pass, but those of the last part."""
        return self.stages > 1 and self.back_end is BackEnd.EXPLICIT

    def in_flight(self, stage: int) -> int:
        """Most passes of a stage whose forward half is done and whose backward half is not."""
        return schedule.most_kept(self.pipeline, stage, self.scheduler) if self.stages > 1 else 1

    def parts(self, stage: int) -> list[Part]:
        """The parts of a stage; blocks for further tokens stand behind the others, in a network of one stage."""
        if self.stages == 1:
            return [Part(range(len(self.network.blocks)))]
        return self.weights.split.parts(stage)

    def blocks(self, stage: int) -> list[int]:
        """The numbers of the blocks of a stage."""
        return [number for part in self.parts(stage) for number in part.blocks]

    def is_last(self, stage: int) -> bool:
        """Whether a stage has the head."""
        return stage == self.stages - 1

    def forward_passes(self, number: int) -> int:
        """Forward passes of a block for each micro batch."""
        again = self.repeats_forward and number not in self._last_part
        return 1 + again + (number in self.recomputed.whole)

    @cached_property
    def _last_part(self) -> frozenset[int]:
        """The blocks of the part that ends with the loss: both of its passes are one graph."""
        return frozenset(self.parts(self.stages - 1)[-1].blocks)

    def held(self, stage: int) -> Counter[str]:
        """What a stage holds: names in `network.shapes_of_kinds`, each with the number of parameters like it."""
        network, parameters = self.network, self.weights.parameters
        found = Counter(name for name in (*network.before, *network.behind) if stage in parameters[name].stages)
        for kind, count in Counter(network.kinds[number] for number in self.blocks(stage)).items():
            found.update(dict.fromkeys(network.names_in(kind), count))
        return found

    def size(self, name: str) -> PieceSize:
        """Elements of a parameter on one rank."""
        return self._sizes[name]

    def total(self, held: Mapping[str, int]) -> PieceSize:
        """Elements on one rank of parameters, each as often as it is held."""
        rows = [[count * elements for elements in self._sizes[name]] for name, count in held.items()]
        return PieceSize(*map(sum, zip(*rows, strict=True)))

    @cached_property
    def _sizes(self) -> dict[str, PieceSize]:
        found = {}
        for name, parameter in self.optimizer.parameters.items():
            own = parameter.layout.local_shape(self.optimizer.mesh, 0)
            is_shared = parameter.axes != self.weights.parameters[name].axes
            count = math.prod(own)
            found[name] = PieceSize(
                math.prod(self.piece(name)), count, self.kept_by_optimizer(own), count if is_shared else 0
            )
        return found

    def piece(self, name: str) -> Shape:
        """Shape of a rank's piece of a parameter."""
        return self._shapes[name]

    @cached_property
    def _shapes(self) -> dict[str, Shape]:
        plan = self.weights
        return {name: parameter.layout.local_shape(plan.mesh, 0) for name, parameter in plan.parameters.items()}

    def multiplications(self, number: int) -> int:
        """Of matrix products in a block's forward pass, for each token, on one rank."""
        return self._multiplications[self.network.kinds[number]]

    @cached_property
    def _multiplications(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for kind in set(self.network.kinds):
            pieces = [self.piece(name) for name in self.network.names_in(kind)]
            chosen = self.network.blocks[kind].chosen
            products = [math.prod(piece) for piece in pieces if len(piece) == 2]
            # Matrices of experts are stored together, and a token goes to some of them.
            products += [chosen * math.prod(piece[1:]) for piece in pieces if len(piece) == 3]
            found[kind] = sum(products)
        return found

    def vocabulary(self) -> int:
        """Rows of the head on one rank."""
        parameters = self.weights.parameters
        tables = [name for name, parameter in parameters.items() if parameter.role is Role.VOCABULARY]
        return self.piece(self.weights.tied or tables[-1])[0]

    def kept_elements(self, block: BlockWork, *, scores: bool) -> float:
        """What the backward pass of a whole block needs of the forward pass, elements for each token on one rank.

        Args:
            block: the block.
            scores: whether attention keeps its probabilities.
        """
        ranks = self.degree("tp")
        stream = block.stream / (ranks if self.weights.divided_tokens else 1)
        inner = block.inner + (block.heads * self.network.row_length if scores else 0)
        return stream + block.normed + inner / ranks

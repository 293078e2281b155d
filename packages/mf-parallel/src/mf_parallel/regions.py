"""What happens to activations at the border of layers whose weights are divided, each with its gradient.

Along an axis that divides weights, every rank differentiates the same loss, which it knows whole. So the gradient of an
activation that is whole on every rank has to be whole too; that of a divided one has this rank's piece.

Legend: B batch, T tokens, D model dim, ... any dims.
"""

from typing import Any

from mindspore import Tensor, nn

from mf_parallel.collectives import AllGather, AllToAll, Communicator, Part, ReduceScatter

TOKENS = 1
"""The dimension of the tokens in activations [B, T, D]."""


class Enter(nn.Cell):
    """Into layers whose outputs are divided: forward as it is, backward the sum over the ranks.

    Source: Shoeybi et al. 2019, Megatron-LM, section 3 (operator f).
    """

    def __init__(self, communicator: Communicator):
        """Takes the ranks that divide the layers."""
        super().__init__()
        self.sum = communicator.sum_cell

    def construct(self, x: Tensor) -> Tensor:
        """[...] to [...]."""
        return x

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        """Each rank's layers add a part to the gradient."""
        return (self.sum(dout),)


class Leave(nn.Cell):
    """Out of layers whose inputs are divided: forward the sum over the ranks, backward as it is.

    Source: Shoeybi et al. 2019, Megatron-LM, section 3 (operator g).
    """

    def __init__(self, communicator: Communicator):
        """Takes the ranks that divide the layers."""
        super().__init__()
        self.sum = communicator.sum_cell

    def construct(self, x: Tensor) -> Tensor:
        """[...], a part of the sum, to [...], the sum."""
        return self.sum(x)

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        """Every rank has the whole gradient of the sum."""
        return (dout,)


class EnterSequence(nn.Cell):
    """Into divided layers where tokens are divided outside them: forward gathers tokens, backward adds up and divides.

    Source: Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models, section 4.2.2.
    """

    def __init__(self, communicator: Communicator, dim: int = TOKENS):
        """Takes the ranks that divide tokens outside and work inside, and the dimension of the tokens."""
        super().__init__()
        self.gather = AllGather(communicator, dim)
        self.scatter = ReduceScatter(communicator, dim)

    def construct(self, x: Tensor) -> Tensor:
        """[B, T / ranks, D] to [B, T, D]."""
        return self.gather(x)

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        """[B, T, D], a part of the sum, to [B, T / ranks, D]."""
        return (self.scatter(dout),)


class LeaveSequence(nn.Cell):
    """Out of divided layers where tokens are divided outside them; the mirror image of `EnterSequence`."""

    def __init__(self, communicator: Communicator):
        """Takes the ranks that divide tokens outside and weights inside."""
        super().__init__()
        self.gather = AllGather(communicator, TOKENS)
        self.scatter = ReduceScatter(communicator, TOKENS)

    def construct(self, x: Tensor) -> Tensor:
        """[B, T, D], a part of the sum, to [B, T / ranks, D]."""
        return self.scatter(x)

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        """[B, T / ranks, D] to [B, T, D]."""
        return (self.gather(dout),)


class DivideSequence(nn.Cell):
    """From whole layers to divided tokens: forward this rank's tokens, backward gathers all of them.

    So the gradient of a table that every rank holds and looks up whole is complete on each.
    """

    def __init__(self, communicator: Communicator):
        """Takes the ranks that divide tokens."""
        super().__init__()
        self.gather = AllGather(communicator, TOKENS)
        self.part = Part(communicator, TOKENS)

    def construct(self, x: Tensor) -> Tensor:
        """[B, T, D] to [B, T / ranks, D]."""
        return self.part(x)

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        """[B, T / ranks, D] to [B, T, D]."""
        return (self.gather(dout),)


class JoinSequence(nn.Cell):
    """From divided tokens to layers that every rank computes whole; the mirror image of `DivideSequence`."""

    def __init__(self, communicator: Communicator):
        """Takes the ranks that divide tokens."""
        super().__init__()
        self.gather = AllGather(communicator, TOKENS)
        self.part = Part(communicator, TOKENS)

    def construct(self, x: Tensor) -> Tensor:
        """[B, T / ranks, D] to [B, T, D]."""
        return self.gather(x)

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        """Every rank has the whole gradient and keeps that of its tokens."""
        return (self.part(dout),)


class Exchange(nn.Cell):
    """From one dimension divided among ranks to another; backward the other way round."""

    def __init__(self, communicator: Communicator, divided: int, joined: int):
        """Takes the ranks, the dimension that is divided afterwards, and the one that is whole afterwards."""
        super().__init__()
        self.forth = AllToAll(communicator, divided, joined)
        self.back = AllToAll(communicator, joined, divided)

    def construct(self, x: Tensor) -> Tensor:
        """The same elements on other ranks; the number of ranks divides the dimension that is divided afterwards."""
        return self.forth(x)

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        """Each gradient goes back to the rank of its element."""
        return (self.back(dout),)


class Region(nn.Cell):
    """A layer with a border cell before its first input."""

    def __init__(self, border: nn.Cell, layer: nn.Cell):
        """Takes both; names of parameters stay as they are."""
        super().__init__(auto_prefix=False)
        self.border = border
        self.layer = layer

    def construct(self, x: Tensor, *others: Any) -> Any:
        """The layer's result; only `x` passes the border."""
        return self.layer(self.border(x), *others)


class OperationRegion(nn.Cell):
    """An operation with border cells before its first input and after its result."""

    def __init__(self, operation: Any, before: nn.Cell | None = None, after: nn.Cell | None = None):
        """Takes a function of graph code, and the cells; None for no border."""
        super().__init__(auto_prefix=False)
        self.operation = operation
        self.before = nn.Identity() if before is None else before
        self.after = nn.Identity() if after is None else after

    def construct(self, x: Tensor, *others: Any) -> Tensor:
        """The operation's result."""
        return self.after(self.operation(self.before(x), *others))

"""Matrix products with the weights of many experts at once.

Legend: X blocks of rows, R rows of a block, D model dim, F inner dim, E experts.
"""

from mindspore import Tensor, ops

_matmul = ops.BatchMatMul(transpose_b=True)
_gather = ops.Gather()

_READ_WEIGHT = 40
"""Rows that are multiplied in the time in which a weight is read once.

Measured on two cores with widths of 128 to 512, 8 and 64 experts, 1 to 2,048 tokens: the times of a
feed-forward are within a third of what this number says.
"""

_COPY_WEIGHT = 3 * _READ_WEIGHT
"""A block that has not an expert of its own takes a copy of the weights: read, written, read again."""


@ops.constexpr
def expert_block_rows(tokens: int, chosen: int, experts: int) -> int:
    """The number of rows in a block of `expert_linear` that takes least time.

    Args:
        tokens: N.
        chosen: experts of a token.
        experts: E.

    Returns:
        R, a power of two; 0 where it is faster to give every expert a block with room for every token.
    """
    sizes = [1 << power for power in range(max(1, tokens * chosen).bit_length())]
    costs = {size: _blocks(tokens, chosen, experts, size) * (size + _COPY_WEIGHT) for size in sizes}
    best = min(sizes, key=lambda size: costs[size])
    return best if costs[best] < experts * (tokens + _READ_WEIGHT) else 0


@ops.constexpr
def expert_blocks(tokens: int, chosen: int, experts: int, rows: int) -> int:
    """X: the most blocks of `rows` that the choices can need where each block is of one expert."""
    return _blocks(tokens, chosen, experts, rows)


def _blocks(tokens: int, chosen: int, experts: int, rows: int) -> int:
    choices = tokens * chosen
    return (choices + min(experts, choices) * (rows - 1)) // rows


def expert_linear(x_XRD: Tensor, weight_EFD: Tensor, expert_X: Tensor | None = None) -> Tensor:
    """Multiply the rows of each block by the weight of its expert.

    Args:
        x_XRD: [X, R, D], float32.
        weight_EFD: [E, F, D].
        expert_X: [X] int32, the expert of each block, ascending; None where block x is of expert x.

    Returns:
        [X, R, F].
    Source: Gale et al. 2022, MegaBlocks, section 5 (blocks of one expert each).
    """
    return _matmul(x_XRD, weight_EFD if expert_X is None else _gather(weight_EFD, expert_X, 0))

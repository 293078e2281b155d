"""Tuples of many tensors in graph code, compiled in a time that grows with their length.

MindSpore builds a tuple that grows in a loop, `found = (*found, x)`, anew with each element: for the parameters of a
network of 16 blocks that was most of what a training step took to compile. `each` makes all elements at once.
"""

from typing import Any

from mindspore import Tensor, ops

each = ops.HyperMap()
"""`each(function, firsts, seconds, …)`: the tuple of `function(first, second, …)`; numbers may be among the arguments.

`ops.partial` binds leading arguments of the function that all elements share.
"""


def picked(values: tuple[Any, ...], positions: tuple[int, ...]) -> tuple[Any, ...]:
    """Some elements, in graph code; the loop is for short or rare tuples.

    Args:
        values: to pick from.
        positions: of the elements.
    """
    if positions == tuple(range(len(values))):
        return values
    found: tuple[Any, ...] = ()
    for position in positions:
        found = (*found, values[position])
    return found


def flattened(tensor: Tensor) -> Tensor:
    """One dim, for a message of several tensors.

    Args:
        tensor: any shape.
    """
    return tensor.reshape((-1,))

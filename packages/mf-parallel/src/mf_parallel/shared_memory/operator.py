"""The sum over the processes of one machine, in graph code."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from mf_parallel.shared_memory.segment import Segment

Shape = list[int]


class SharedSum(nn.Cell):
    """Sum of a tensor over the ranks of a group, in rank order: all have the same bits.

    A rank that comes here waits for the others, so all ranks of a job have to come to their sums in one order.
    MindSpore sees to that for its own collectives alone, see `ordered_graphs`.
    """

    def __init__(self, segment: Segment, ranks: tuple[int, ...]):
        """Takes the memory of the job, and the members."""
        super().__init__()
        self.operator = ops.Custom(
            f"{segment.library}:mf_shared_sum", out_shape=_first_shape, out_dtype=ms.float32, func_type="aot"
        )
        self.group = Tensor(np.array([segment.group(ranks)], np.float32))

    def construct(self, x: Tensor) -> Tensor:
        """Add up; float16 in float32, rounded once.

        Args:
            x: any shape, float32 or float16; the same on all ranks.

        Returns:
            The sum, of the same shape and dtype.
        """
        # MindSpore makes a Python number of an operator's result without dimensions.
        terms = x.reshape((1,)) if x.ndim == 0 else x
        if x.dtype == ms.float32:
            return self.operator(terms, self.group).reshape(x.shape)
        return ops.cast(self.operator(ops.cast(terms, ms.float32), self.group), x.dtype).reshape(x.shape)


def ordered_graphs() -> None:
    """Let the graphs that are compiled from now on run their operators one after another, as they stand in the graph.

    By default MindSpore 2.10 starts operators that don't need each other in any order, at once where there are threads
    to do so. Ranks that begin with different sums would wait for each other for ever.
    """
    ms.set_context(memory_optimize_level="O1")


def _first_shape(x: Shape, _group: Shape) -> Shape:
    return x

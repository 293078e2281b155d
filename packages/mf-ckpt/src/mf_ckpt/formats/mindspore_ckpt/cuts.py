"""The rule by which MindSpore divides a parameter, as a list of cuts of tensor dimensions over spaced ranks."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ALL_COPIES, ParallelLayout
from mf_config.problems import UserError


@dataclass(frozen=True, slots=True)
class Cut:
    """A dimension is cut into `count` equal blocks; ranks `stride` apart hold neighbouring blocks.

    Attributes:
        dim: the tensor dimension.
        stride: distance between the ranks of neighbouring blocks.
        count: number of blocks, at least 2.
    """

    dim: int
    stride: int
    count: int


def cuts_of(layout: ParallelLayout) -> list[Cut]:
    """All cuts of a layout, each applied to what the ones before it left.

    First those of the tensor map. Then, where the parallel optimizer divides the parameter too, what is left of
    dimension 0 is cut among ranks that hold the same piece: along the axes that the map doesn't use, beginning with the
    one of stride `opt_shard_step` and going outward until `opt_shard_size` ranks are reached.

    Source: MindSpore, parallel/_tensor.py, and the strategy files that it writes.

    Raises:
        UserError: there are no such ranks.
    """
    cuts = [
        Cut(dim, _stride(layout, axis), layout.device_matrix[-1 - axis])
        for dim, axes in enumerate(layout.tensor_map)
        for axis in axes
        if layout.device_matrix[-1 - axis] > 1
    ]
    size = layout.opt_shard_size
    if size == ALL_COPIES:
        size = prod(layout.device_matrix) // prod(cut.count for cut in cuts)
    if size > 1 and layout.opt_shard_step:
        cuts += _optimizer_cuts(layout, size)
    return cuts


def _optimizer_cuts(layout: ParallelLayout, size: int) -> list[Cut]:
    cuts: list[Cut] = []
    for stride, count in _free_axes(layout):
        taken = min(count, size)
        if size % taken or count % taken or (not cuts and stride != layout.opt_shard_step):
            break
        cuts.insert(0, Cut(0, stride, taken))
        size //= taken
        if size == 1:
            return cuts
    raise UserError(
        f"opt_weight_shard_size {layout.opt_shard_size} with step {layout.opt_shard_step} doesn't fit what "
        f"tensor map {list(layout.tensor_map)} leaves of device matrix {list(layout.device_matrix)}"
    )


def _free_axes(layout: ParallelLayout) -> Iterator[tuple[int, int]]:
    """Stride and length of the axes that the map doesn't use, inner first, from the optimizer's step outward."""
    used = {axis for axes in layout.tensor_map for axis in axes}
    step = layout.opt_shard_step
    for axis, count in enumerate(reversed(layout.device_matrix)):
        stride = _stride(layout, axis)
        if axis in used or stride * count <= step:
            continue
        if stride < step and step % stride == 0 and count % (step // stride) == 0:
            # The step begins inside this axis: its inner part holds copies.
            stride, count = step, count // (step // stride)
        if count > 1:
            yield stride, count


def _stride(layout: ParallelLayout, axis: int) -> int:
    return prod(layout.device_matrix[len(layout.device_matrix) - axis :])

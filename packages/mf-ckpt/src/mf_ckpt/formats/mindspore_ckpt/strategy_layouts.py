"""Translates between MindSpore's strategies and the layout vocabulary of `mf_config.layout`, in both directions."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import prod

from mf_ckpt.formats.mindspore_ckpt.cuts import Cut, cuts_of
from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_ckpt.formats.mindspore_ckpt.strategy import Strategy
from mf_config.layout import Fused, Mesh, Shard, TensorLayout
from mf_config.problems import UserError

STAGE_AXIS = "pp"
"""The outermost axis of a mesh with several pipeline stages."""

Shape = tuple[int, ...]


def from_strategy(
    strategy: Strategy, local_shapes: Mapping[int, Mapping[str, Shape]]
) -> tuple[Mesh, dict[str, TensorLayout]]:
    """The mesh and the layouts that a strategy describes.

    Every parameter of a strategy may have its own device matrix; the mesh is their common refinement. Its axes are
    named `stride_K`: ranks along them are K apart. Several stages add the axis `pp` outside.

    Args:
        strategy: the strategy of a whole run.
        local_shapes: for each stage the shapes of the pieces that its ranks hold, by name; a strategy file doesn't say
            them. Parameters that either side lacks are left out.

    Returns:
        The mesh of all ranks, and the layout of each whole tensor. That of a tensor in several stages is the layout
        of the first.

    Raises:
        UserError: stages or parameters with different numbers of devices, device matrices without a common
            refinement, or a parameter with another number of dimensions than its tensor map.
    """
    cuts: dict[str, list[Cut]] = {}
    shapes: dict[str, Shape] = {}
    devices: dict[int, str] = {}
    for stage, layouts in strategy.stages.items():
        for name, layout in layouts.items():
            devices.setdefault(prod(layout.device_matrix), name)
            shape = local_shapes.get(stage, {}).get(name)
            if shape is not None and name not in cuts:
                cuts[name] = _cuts(name, layout, shape)
                shapes[name] = shape
    if len(devices) > 1:
        raise UserError(f"strategy: parameters lie on different numbers of devices: {devices}")
    mesh = _refinement(next(iter(devices), 1), cuts)
    placed = {name: _tensor_layout(shapes[name], cuts[name], mesh) for name in cuts}
    if len(strategy.stages) > 1:
        mesh = Mesh((STAGE_AXIS, *mesh.axes), (len(strategy.stages), *mesh.degrees))
    return mesh, placed


def to_strategy(mesh: Mesh, layouts: Mapping[int, Mapping[str, TensorLayout]]) -> Strategy:
    """The strategy that divides tensors as layouts say.

    Args:
        mesh: the mesh of all ranks; an axis `pp` that is more than 1 long comes first and has one rank for each stage.
        layouts: for each pipeline stage the layouts of its tensors.

    Returns:
        The strategy, for `write_strategy`.

    Raises:
        UserError: a layout that MindSpore can't express: joined parts that are divided each by itself, padding, uneven
            blocks.
    """
    stages = mesh.degree(STAGE_AXIS) if STAGE_AXIS in mesh.axes else 1
    if stages not in (1, len(layouts)) or (stages > 1 and mesh.axes[0] != STAGE_AXIS):
        raise UserError(f"strategy: {len(layouts)} stages on a mesh of {mesh}. Allowed: pp outermost, as long.")
    kept = [axis for axis in mesh.axes if axis != STAGE_AXIS and mesh.degree(axis) > 1]
    inner = Mesh(tuple(kept), tuple(mesh.degree(axis) for axis in kept))
    return Strategy(
        {
            stage: {name: _parallel_layout(name, layout, mesh, inner) for name, layout in named.items()}
            for stage, named in layouts.items()
        }
    )


def _cuts(name: str, layout: ParallelLayout, shape: Shape) -> list[Cut]:
    maps = layout.tensor_map
    if len(shape) == 1 and len(maps) > 1:
        # The file has no way to tell two axes of one dimension from one axis of two; the shape does.
        maps = (tuple(axis for axes in maps for axis in axes),)
    if len(shape) != len(maps) and any(maps):
        raise UserError(f"strategy: {name!r} has {len(shape)} dimensions, its tensor map {len(maps)}")
    try:
        return cuts_of(ParallelLayout(layout.device_matrix, maps, layout.opt_shard_step, layout.opt_shard_size))
    except UserError as error:
        raise UserError(f"strategy: parameter {name!r}: {error}") from None


def _refinement(devices: int, cuts: Mapping[str, Iterable[Cut]]) -> Mesh:
    """The mesh whose axes every cut consists of."""
    edges = {1: "", devices: ""}
    for name, own in cuts.items():
        for cut in own:
            edges.setdefault(cut.stride, name)
            edges.setdefault(cut.stride * cut.count, name)
    steps = list(pairwise(sorted(edges)))
    for inner, outer in steps:
        if outer % inner:
            raise UserError(
                f"strategy: {edges[inner]!r} and {edges[outer]!r} are divided over device matrices that don't fit "
                f"together: blocks of {inner} and of {outer} ranks. Allowed: the larger a multiple of the smaller."
            )
    steps.reverse()
    return Mesh(tuple(_axis(inner) for inner, _ in steps), tuple(outer // inner for inner, outer in steps))


def _tensor_layout(local_shape: Shape, cuts: Iterable[Cut], mesh: Mesh) -> TensorLayout:
    whole = list(local_shape)
    placements = []
    for cut in cuts:
        whole[cut.dim] *= cut.count
        strides = [_stride(mesh, axis) for axis in mesh.axes]
        within = [stride for stride in strides if cut.stride <= stride < cut.stride * cut.count]
        placements += [Shard(cut.dim, _axis(stride)) for stride in within]
    return TensorLayout(tuple(whole), tuple(placements))


def _parallel_layout(name: str, layout: TensorLayout, mesh: Mesh, inner: Mesh) -> ParallelLayout:
    axes: list[list[str]] = [[] for _ in layout.shape]
    extents = list(layout.shape)
    if layout.padded_shape != layout.shape:
        raise UserError(f"strategy: {name!r} is padded, which MindSpore doesn't know. Allowed: its own length.")
    for division in layout.divisions:
        count, unit = mesh.degree(division.axis), division.unit
        if count == 1:
            continue
        if division.axis == STAGE_AXIS:
            raise UserError(f"strategy: {name!r} is cut over pipeline stages. Allowed: each stage its own tensors.")
        if isinstance(division, Fused) and len(division.parts) > 1:
            raise UserError(f"strategy: {name!r} is cut in joined parts, which MindSpore doesn't know: split it first")
        if extents[division.dim] % count or extents[division.dim] // count % unit:
            raise UserError(f"strategy: {name!r}: {division} is uneven in {count} blocks, which MindSpore doesn't know")
        extents[division.dim] //= count
        axes[division.dim].append(division.axis)
    numbered = [[len(inner.axes) - 1 - inner.axes.index(axis) for axis in own] for own in axes]
    return _with_optimizer_step(inner, numbered) or ParallelLayout(inner.degrees or (1,), _frozen(numbered))


def _with_optimizer_step(mesh: Mesh, axes: list[list[int]]) -> ParallelLayout | None:
    """The form that a run with a parallel optimizer has, where further axes divide dimension 0 alone, and all fit."""
    if not axes or len(axes[0]) < 2 or any(len(own) > 1 for own in axes[1:]):
        return None
    kept = [axes[0][:1], *axes[1:]]
    rest = axes[0][1:]
    used = {axis for own in kept for axis in own}
    free = [axis for axis in range(len(mesh.axes)) if axis not in used]
    # MindSpore's own transformation always takes the innermost free axes, whatever the step.
    if sorted(rest) != free[: len(rest)]:
        return None
    step = _stride(mesh, mesh.axes[-1 - free[0]])
    size = prod(mesh.degrees[-1 - axis] for axis in rest)
    candidate = ParallelLayout(mesh.degrees, _frozen(kept), step, size)
    same = _by_dim(cuts_of(candidate)) == _by_dim(cuts_of(ParallelLayout(mesh.degrees, _frozen(axes))))
    return candidate if same else None


def _by_dim(cuts: list[Cut]) -> list[Cut]:
    """Cuts in the order of their dimensions; the order within one dimension is what matters, and stays."""
    return sorted(cuts, key=lambda cut: cut.dim)


def _frozen(axes: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, axes))


def _axis(stride: int) -> str:
    return f"stride_{stride}"


def _stride(mesh: Mesh, axis: str) -> int:
    return prod(mesh.degrees[mesh.axes.index(axis) + 1 :])

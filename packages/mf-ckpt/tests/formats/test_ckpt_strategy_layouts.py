"""Strategies as layouts, against the rule of the reference written out with device coordinates."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_ckpt.formats.mindspore_ckpt.strategy import Strategy
from mf_ckpt.formats.mindspore_ckpt.strategy_layouts import from_strategy, to_strategy
from mf_ckpt.sources.arrays import ArraySource
from mf_ckpt.sources.sliced import SlicedSource
from mf_config.layout import Fused, Mesh, Shard, TensorLayout, scatter
from mf_config.problems import UserError


def cut_by_coordinates(whole, layout, rank):
    """The piece of a rank: by the device matrix and the map, then among the ranks that would hold the same."""

    def block(of):
        position, piece = np.unravel_index(of, layout.device_matrix), whole
        for dim, axes in enumerate(layout.tensor_map):
            for axis in axes:
                piece = np.split(piece, layout.device_matrix[-1 - axis], dim)[position[-1 - axis]]
        return piece

    if layout.opt_shard_size == 0:
        return block(rank)
    here = block(rank).__array_interface__["data"]
    same = [other for other in range(prod(layout.device_matrix)) if block(other).__array_interface__["data"] == here]
    size = len(same) if layout.opt_shard_size == -1 else layout.opt_shard_size
    return np.split(block(rank), size, 0)[same.index(rank) % size]


@st.composite
def parallel_layouts(draw, matrix):
    """A layout of a tensor of one to three dimensions over a device matrix."""
    axes = draw(st.permutations(range(len(matrix))))
    owners = draw(st.lists(st.integers(-1, 2), min_size=len(matrix), max_size=len(matrix)))
    dims = draw(st.integers(1, 3))
    tensor_map = tuple(tuple(axis for axis in axes if owners[axis] == dim) for dim in range(dims))
    free = [axis for axis in range(len(matrix)) if all(axis not in own for own in tensor_map)]
    free = [axis for axis in free if matrix[-1 - axis] > 1]
    taken = draw(st.integers(0, len(free)))
    if taken == 0:
        return ParallelLayout(matrix, tensor_map)
    step = prod(matrix[len(matrix) - free[0] :])
    size = -1 if taken == len(free) and draw(st.booleans()) else prod(matrix[-1 - axis] for axis in free[:taken])
    return ParallelLayout(matrix, tensor_map, step, size)


@st.composite
def wholes(draw, layout):
    """A tensor of distinct elements that the layout divides evenly."""
    counts = [prod(layout.device_matrix[-1 - axis] for axis in axes) for axes in layout.tensor_map]
    counts[0] *= prod(layout.device_matrix)
    shape = [count * draw(st.integers(1, 2)) for count in counts]
    return np.arange(prod(shape), dtype=np.int32).reshape(shape)


@given(data=st.data())
def test_pieces_that_the_reference_cuts_are_read_as_the_whole(data):
    matrix = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=3)))
    layouts = {name: data.draw(parallel_layouts(matrix)) for name in ("a", "b")}
    tensors = {name: data.draw(wholes(layout)) for name, layout in layouts.items()}
    pieces = [
        {name: np.ascontiguousarray(cut_by_coordinates(tensors[name], layouts[name], rank)) for name in tensors}
        for rank in range(prod(matrix))
    ]
    shapes = {name: piece.shape for name, piece in pieces[0].items()}
    mesh, found = from_strategy(Strategy({0: layouts}), {0: shapes})
    assert mesh.size == prod(matrix)
    source = SlicedSource({rank: ArraySource(own) for rank, own in enumerate(pieces)}, mesh, found)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(source[name], tensor)
        for rank, own in enumerate(pieces):
            np.testing.assert_array_equal(scatter(tensor, found[name], mesh, rank), own[name])


@given(data=st.data())
def test_layouts_become_a_strategy_and_come_back(data):
    degrees = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=3)))
    mesh = Mesh(tuple("abc"[: len(degrees)]), degrees)
    axes = data.draw(st.permutations(mesh.axes))
    placements = tuple(Shard(data.draw(st.integers(0, 1)), axis) for axis in axes if data.draw(st.booleans()))
    layout = TensorLayout((mesh.size, 2 * mesh.size), placements)
    strategy = to_strategy(mesh, {0: {"w": layout}})
    tensor = np.arange(prod(layout.shape)).reshape(layout.shape)
    for rank in range(mesh.size):
        expected = scatter(tensor, layout, mesh, rank)
        np.testing.assert_array_equal(cut_by_coordinates(tensor, strategy.stages[0]["w"], rank), expected)
    again, found = from_strategy(strategy, {0: {"w": layout.local_shape(mesh, 0)}})
    assert found["w"].shape == layout.shape
    assert all(found["w"].boxes(again, rank) == layout.boxes(mesh, rank) for rank in range(mesh.size))


def test_the_example_of_the_reference():
    """Matrix [2, 4], map [0, -1], optimizer size 2 step 4: chunk r % 4 of the rows, and of it half r // 4."""
    strategy = Strategy({0: {"w": ParallelLayout((2, 4), ((0,), ()), 4, 2)}})
    mesh, layouts = from_strategy(strategy, {0: {"w": (2, 3)}})
    assert layouts["w"].shape == (16, 3)
    rows = np.arange(16).reshape(4, 2, 2)
    tensor = np.repeat(np.arange(16)[:, None], 3, 1)
    for rank in range(8):
        assert scatter(tensor, layouts["w"], mesh, rank)[:, 0].tolist() == rows[rank % 4][rank // 4].tolist()


def test_the_optimizer_step_may_begin_inside_an_axis():
    mesh, layouts = from_strategy(Strategy({0: {"w": ParallelLayout((8,), ((),), 4, 2)}}), {0: {"w": (3,)}})
    assert [layouts["w"].boxes(mesh, rank)[0].start for rank in range(8)] == [(0,)] * 4 + [(3,)] * 4


def test_two_axes_of_a_vector_are_told_by_its_shape():
    nested = Strategy({0: {"w": ParallelLayout((2, 2), ((1,), (0,)))}})
    assert from_strategy(nested, {0: {"w": (3,)}})[1]["w"].shape == (12,)


def test_device_matrices_are_refined_to_one_mesh():
    layouts = {
        "a": ParallelLayout((2, 4), ((0,),)),
        "b": ParallelLayout((4, 2), ((1,),)),
        "s": ParallelLayout((8,), ()),
    }
    mesh, found = from_strategy(Strategy({0: layouts}), {0: {"a": (1,), "b": (1,), "s": ()}})
    assert mesh == Mesh(("stride_4", "stride_2", "stride_1"), (2, 2, 2))
    assert found["a"] == TensorLayout((4,), (Shard(0, "stride_2"), Shard(0, "stride_1")))
    assert found["b"] == TensorLayout((4,), (Shard(0, "stride_4"), Shard(0, "stride_2")))
    assert found["s"] == TensorLayout(())


def test_stages_are_the_outermost_axis():
    row = ParallelLayout((2,), ((0,),))
    strategy = Strategy({0: {"first": row}, 1: {"last": row}})
    mesh, layouts = from_strategy(strategy, {0: {"first": (1,)}, 1: {"last": (2,)}})
    assert mesh == Mesh(("pp", "stride_1"), (2, 2))
    assert layouts == {
        "first": TensorLayout((2,), (Shard(0, "stride_1"),)),
        "last": TensorLayout((4,), (Shard(0, "stride_1"),)),
    }
    assert to_strategy(mesh, {0: {"first": layouts["first"]}, 1: {"last": layouts["last"]}}) == strategy


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"a": ParallelLayout((2, 3), ((0,),)), "b": ParallelLayout((3, 2), ((0,),))}, "'b' and 'a' .* don't fit"),
        ({"a": ParallelLayout((2,), ((0,),)), "b": ParallelLayout((4,), ((0,),))}, "different numbers of devices"),
        ({"a": ParallelLayout((2, 2), ((0,),), 1, 2)}, "'a': opt_weight_shard_size 2 with step 1 doesn't fit"),
        ({"a": ParallelLayout((4,), ((),), 1, 8)}, "opt_weight_shard_size 8"),
        ({"a": ParallelLayout((6,), ((),), 1, 4)}, "opt_weight_shard_size 4"),
    ],
)
def test_a_strategy_that_makes_no_sense_is_refused(layouts, message):
    with pytest.raises(UserError, match=message):
        from_strategy(Strategy({0: layouts}), {0: dict.fromkeys(layouts, (1,))})


def test_a_tensor_of_another_dimension_than_its_map_is_refused():
    with pytest.raises(UserError, match="'w' has 3 dimensions, its tensor map 2"):
        from_strategy(Strategy({0: {"w": ParallelLayout((2,), ((0,), ()))}}), {0: {"w": (1, 1, 1)}})


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (TensorLayout((6,), (Fused(0, "tp", (4, 2)),)), "cut in joined parts"),
        (TensorLayout((5,), (Shard(0, "tp"),)), "uneven in 2 blocks"),
        (TensorLayout((6,), (Shard(0, "tp", unit=2),)), "uneven in 2 blocks"),
        (TensorLayout((5,), (Shard(0, "tp"),), (6,)), "is padded"),
        (TensorLayout((4,), (Shard(0, "pp"),)), "cut over pipeline stages"),
    ],
)
def test_a_layout_that_mindspore_lacks_is_refused(layout, message):
    with pytest.raises(UserError, match=f"'w'.*{message}"):
        to_strategy(Mesh(("pp", "tp"), (2, 2)), {0: {"w": layout}, 1: {}})


def test_stages_must_fit_the_mesh():
    with pytest.raises(UserError, match="1 stages on a mesh of pp 2"):
        to_strategy(Mesh(("pp", "tp"), (2, 2)), {0: {}})

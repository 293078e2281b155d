"""Tensor layouts: known slices, and the tiling properties of arbitrary ones."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.layout import Box, Fused, Mesh, Replicate, Shard, TensorLayout, gather, scatter
from mf_config.problems import UserError

QKV = np.load(Path(__file__).parent / "data" / "layout_qkv.npz")


def rows(layout: TensorLayout, mesh: Mesh, rank: int) -> list[int]:
    """The rows of the whole that a rank holds, in local order, from the boxes alone."""
    return [row for box in layout.boxes(mesh, rank) for row in range(box.start[0], box.start[0] + box.shape[0])]


@st.composite
def layouts_and_meshes(draw: st.DrawFn) -> tuple[TensorLayout, Mesh]:
    """Layouts of up to three dims with any mixture of divisions, lengths that rarely divide, and padding."""
    mesh = Mesh.of(**{axis: draw(st.integers(1, 3)) for axis in ("pp", "dp", "tp")})
    shape = draw(st.lists(st.integers(0, 9), min_size=0, max_size=3))
    padding = [draw(st.integers(0, 4)) for _ in shape]
    padded = [length + extra for length, extra in zip(shape, padding, strict=True)]
    placements: list[Shard | Fused | Replicate] = [Replicate()]
    used: set[int] = set()
    for axis in draw(st.permutations(["pp", "dp", "tp"])):
        if not shape or draw(st.booleans()):
            continue
        dim = draw(st.integers(0, len(shape) - 1))
        unit = draw(st.integers(1, 3))
        if padded[dim] >= 2 and dim not in used and draw(st.booleans()):
            first = draw(st.integers(1, padded[dim] - 1))
            placements.append(Fused(dim, axis, (first, padded[dim] - first), unit))
        else:
            placements.append(Shard(dim, axis, unit))
        used.add(dim)
    return TensorLayout(tuple(shape), tuple(placements), tuple(padded)), mesh


def count_cells(shape: tuple[int, ...], boxes: list[tuple[slice, ...]]) -> np.ndarray:
    """How many boxes cover each element."""
    counts = np.zeros(shape, int)
    for box in boxes:
        counts[box] += 1
    return counts


@pytest.mark.property
@given(layouts_and_meshes())
def test_boxes_of_distinct_ranks_tile_the_whole_exactly(pair: tuple[TensorLayout, Mesh]):
    layout, mesh = pair
    boxes = [box.whole for rank in layout.distinct_ranks(mesh) for box in layout.boxes(mesh, rank)]
    assert (count_cells(layout.shape, boxes) == 1).all()


@pytest.mark.property
@given(layouts_and_meshes())
def test_boxes_tile_the_local_piece_exactly_but_for_padding(pair: tuple[TensorLayout, Mesh]):
    layout, mesh = pair
    for rank in range(mesh.size):
        boxes = layout.boxes(mesh, rank)
        counts = count_cells(layout.local_shape(mesh, rank), [box.local for box in boxes])
        assert (counts <= 1).all()
        unpadded = TensorLayout(layout.padded_shape, layout.placements)
        assert (
            count_cells(layout.local_shape(mesh, rank), [box.local for box in unpadded.boxes(mesh, rank)]) == 1
        ).all()
        assert all(np.zeros(layout.shape)[box.whole].shape == box.shape for box in boxes)


@pytest.mark.property
@given(layouts_and_meshes())
def test_ranks_that_differ_along_no_dividing_axis_hold_the_same(pair: tuple[TensorLayout, Mesh]):
    layout, mesh = pair
    copies = [axis for axis in mesh.axes if axis not in {division.axis for division in layout.divisions}]
    for group in mesh.groups(copies):
        assert all(layout.boxes(mesh, rank) == layout.boxes(mesh, group[0]) for rank in group)


@pytest.mark.property
@given(layouts_and_meshes())
def test_gather_of_scatter_is_the_whole(pair: tuple[TensorLayout, Mesh]):
    layout, mesh = pair
    whole = np.arange(np.prod(layout.shape, dtype=int)).reshape(layout.shape)
    pieces = {rank: scatter(whole, layout, mesh, rank) for rank in range(mesh.size)}
    np.testing.assert_array_equal(gather(pieces, layout, mesh), whole)


@pytest.mark.property
@given(layouts_and_meshes())
def test_json_round_trip(pair: tuple[TensorLayout, Mesh]):
    layout, _ = pair
    assert TensorLayout.from_json(layout.to_json()) == layout


@pytest.mark.property
@given(st.integers(0, 40), st.integers(1, 7))
def test_uneven_shards_are_those_of_numpy(length: int, count: int):
    layout, mesh = TensorLayout((length,), (Shard(0, "tp"),)), Mesh.of(tp=count)
    whole = np.arange(length)
    for rank, expected in enumerate(np.array_split(whole, count)):
        np.testing.assert_array_equal(scatter(whole, layout, mesh, rank), expected)


def test_tensor_parallel_slices_of_a_llama():
    # 4 query heads and 2 key/value heads of size 12, hidden 48, intermediate 96, on two ranks.
    mesh = Mesh.of(tp=2)
    query = TensorLayout((48, 48), (Shard(0, "tp", unit=12),))
    key = TensorLayout((24, 48), (Shard(0, "tp", unit=12),))
    down = TensorLayout((48, 96), (Shard(1, "tp"),))
    assert query.boxes(mesh, 1) == [Box((24, 0), (0, 0), (24, 48))]
    assert key.boxes(mesh, 1) == [Box((12, 0), (0, 0), (12, 48))]
    assert down.boxes(mesh, 1) == [Box((0, 48), (0, 0), (48, 48))]


def test_fused_parts_are_divided_each_by_itself():
    layout, mesh = TensorLayout((24, 5), (Fused(0, "tp", (12, 6, 6), unit=3),)), Mesh.of(tp=2)
    for rank in (0, 1):
        np.testing.assert_array_equal(scatter(QKV["cat"], layout, mesh, rank), QKV[f"cat_tp2_{rank}"])


def test_per_group_order_is_a_plain_division_in_units_of_a_group():
    layout, mesh = TensorLayout((24, 5), (Shard(0, "tp", unit=12),)), Mesh.of(tp=2)
    for rank in (0, 1):
        np.testing.assert_array_equal(scatter(QKV["grouped"], layout, mesh, rank), QKV[f"grouped_tp2_{rank}"])


def test_units_stay_together_when_the_division_is_uneven():
    layout, mesh = TensorLayout((48,), (Shard(0, "tp", unit=12),)), Mesh.of(tp=3)
    assert [layout.local_shape(mesh, rank) for rank in range(3)] == [(24,), (12,), (12,)]


def test_a_second_division_divides_what_the_first_left():
    layout, mesh = TensorLayout((8,), (Fused(0, "tp", (4, 4)), Shard(0, "dp"))), Mesh.of(dp=2, tp=2)
    assert {rank: rows(layout, mesh, rank) for rank in range(4)} == {0: [0, 1], 1: [2, 3], 2: [4, 5], 3: [6, 7]}
    layout = TensorLayout((8,), (Shard(0, "dp"), Shard(0, "tp")))
    assert {rank: rows(layout, mesh, rank) for rank in range(4)} == {0: [0, 1], 1: [2, 3], 2: [4, 5], 3: [6, 7]}
    layout = TensorLayout((8,), (Shard(0, "tp"), Shard(0, "dp")))
    assert {rank: rows(layout, mesh, rank) for rank in range(4)} == {0: [0, 1], 1: [4, 5], 2: [2, 3], 3: [6, 7]}


def test_a_padded_vocabulary_has_even_pieces_and_boxes_without_padding():
    layout, mesh = TensorLayout((10, 2), (Shard(0, "tp"),), padded_shape=(16, 2)), Mesh.of(tp=4)
    assert [layout.local_shape(mesh, rank) for rank in range(4)] == [(4, 2)] * 4
    assert [rows(layout, mesh, rank) for rank in range(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], []]
    np.testing.assert_array_equal(scatter(np.ones((10, 2)), layout, mesh, 2), [[1, 1], [1, 1], [0, 0], [0, 0]])


def test_a_scalar_is_one_box_without_dimensions():
    layout = TensorLayout((), (Replicate(),))
    assert layout.boxes(Mesh.of(dp=2), 1) == [Box((), (), ())]
    assert layout.distinct_ranks(Mesh.of(dp=2)) == [0]


def test_replicate_says_nothing_more_than_no_placement():
    assert TensorLayout((2,), (Replicate(),)) == TensorLayout((2,))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: TensorLayout((4,), (Shard(1, "tp"),)), "dim 1 over tp of shape .4.. Allowed: dims below 1"),
        (lambda: TensorLayout((4, 4), (Shard(0, "tp"), Shard(1, "tp"))), "axis tp divides twice"),
        (lambda: TensorLayout((5,), (Fused(0, "tp", (2, 2)),)), "parts 2.2 of 5. Allowed: parts that fill"),
        (lambda: TensorLayout((4,), (Shard(0, "dp"), Fused(0, "tp", (2, 2)))), "joined parts come first"),
        (lambda: TensorLayout((4,), (), (3,)), "padded lengths no smaller"),
        (lambda: TensorLayout((4,), (), (4, 4)), "padded lengths no smaller"),
        (lambda: Shard(-1, "tp"), "dim -1"),
        (lambda: Shard(0, "tp", unit=0), "units of 0"),
        (lambda: Fused(0, "tp", ()), "one or more lengths"),
        (lambda: TensorLayout((4,), (Shard(0, "tpp"),)).boxes(Mesh.of(), 0), "no axis 'tpp'"),
        (lambda: TensorLayout((4,)).boxes(Mesh.of(), 1), "no rank 1"),
        (lambda: scatter(np.zeros(3), TensorLayout((4,)), Mesh.of(), 0), "shape .3.. Allowed: .4."),
        (lambda: gather({}, TensorLayout((4,)), Mesh.of()), "no piece of ranks .0."),
        (lambda: gather({0: np.zeros(3)}, TensorLayout((4,)), Mesh.of()), "rank 0 has a piece of shape .3."),
        (lambda: TensorLayout.from_json({"shape": [2]}), "no 'placements'"),
        (lambda: TensorLayout.from_json({"shape": [-2], "placements": []}), "-2 found"),
        (lambda: TensorLayout.from_json({"shape": [2], "placements": [{"kind": "x"}]}), "kind 'x'"),
        (
            lambda: TensorLayout.from_json(
                {"shape": [2], "placements": [{"kind": "shard", "dim": 0, "axis": 3, "unit": 1}]}
            ),
            "axis: 3 found. Allowed: a string",
        ),
    ],
)
def test_mistakes_are_named(mistake, message):
    with pytest.raises(UserError, match=message):
        mistake()

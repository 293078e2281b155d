"""Whole tensors from ranks' pieces, and pieces from whole tensors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt import ArraySource, RankSource, SlicedSource
from mf_ckpt.sources.blocks import parts
from mf_ckpt.sources.source import part
from mf_config.layout import Fused, Mesh, Shard, TensorLayout, scatter
from mf_config.problems import UserError


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.int32).reshape(shape)


@st.composite
def layouts(draw: st.DrawFn) -> TensorLayout:
    """Layouts over the axes dp, tp and ep: uneven, in units, of joined parts, padded, of any number of dimensions."""
    shape = tuple(draw(st.lists(st.integers(0, 7), max_size=3)))
    padded = tuple(size + draw(st.integers(0, 3)) for size in shape)
    axes = draw(st.permutations(["dp", "tp", "ep"])) if shape else []
    placements = []
    fused = set()
    for axis in axes[: draw(st.integers(0, 3))]:
        dim = draw(st.integers(0, len(shape) - 1))
        first = all(placement.dim != dim for placement in placements)
        if first and padded[dim] > 1 and padded == shape and draw(st.booleans()):
            cut = draw(st.integers(1, padded[dim] - 1))
            placements.append(Fused(dim, axis, (cut, padded[dim] - cut)))
            fused.add(dim)
        else:
            placements.append(Shard(dim, axis, draw(st.integers(1, 3))))
    return TensorLayout(shape, tuple(placements), padded)


meshes = st.builds(Mesh.of, dp=st.integers(1, 3), tp=st.integers(1, 3), ep=st.integers(1, 2))


@given(meshes, layouts())
def test_a_rank_has_what_the_layout_says(mesh: Mesh, layout: TensorLayout):
    whole = numbered(layout.shape)
    for rank in range(mesh.size):
        piece = RankSource(ArraySource({"a": whole}), mesh, {"a": layout}, rank)
        assert piece.info("a").shape == layout.local_shape(mesh, rank)
        assert np.array_equal(piece["a"], scatter(whole, layout, mesh, rank))


@given(meshes, layouts(), st.integers(1, 5))
def test_the_whole_comes_back_and_every_element_is_read_once(counting, mesh: Mesh, layout: TensorLayout, most: int):
    whole = numbered(layout.shape)
    counts = counting(ArraySource({"a": whole}))
    stored = {}
    for rank in layout.distinct_ranks(mesh):
        piece = RankSource(counts, mesh, {"a": layout}, rank)
        stored[rank] = np.zeros(piece.info("a").shape, np.int32)
        for slices, _ in parts(stored[rank].shape, most):
            piece.raw_into("a", slices, part(stored[rank], slices))
    assert counts.read_once()
    pieces = {rank: counting(ArraySource({"a": array})) for rank, array in stored.items()}
    again = SlicedSource(pieces, mesh, {"a": layout})
    found = np.zeros(layout.shape, np.int32)
    for slices, _ in parts(layout.shape, most):
        found[slices] = again.raw("a", slices)
    assert np.array_equal(found, whole)
    reads = np.concatenate([piece.counts["a"].reshape(-1) for piece in pieces.values()])
    assert reads.sum() == whole.size
    assert reads.max(initial=0) <= 1


def test_the_first_rank_that_has_a_piece_is_read():
    """Pipeline stages have their own tensors, and replicas need not be stored."""
    mesh = Mesh.of(pp=2, dp=2, tp=2)
    layout = TensorLayout((4,), (Shard(0, "tp"),))
    sources = {4: ArraySource({"a": np.arange(2)}), 7: ArraySource({"a": np.arange(2, 4)})}
    assert SlicedSource(sources, mesh, {"a": layout})["a"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("sources", "fault"),
    [
        ({0: np.zeros(2)}, r"no piece of ranks \[1\]"),
        ({0: np.zeros(2), 1: np.zeros(3)}, r"rank 1 has a piece of shape \[3\]. Allowed: \[2\]"),
        ({0: np.zeros(2), 1: np.zeros(2, np.float32)}, "ranks 0 and 1 store it in different types"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(sources: dict[int, np.ndarray], fault: str):
    pieces = {rank: ArraySource({"a": array}) for rank, array in sources.items()}
    with pytest.raises(UserError, match=fault):
        SlicedSource(pieces, Mesh.of(tp=2), {"a": TensorLayout((4,), (Shard(0, "tp"),))})


def test_padding_is_zeros_and_is_not_part_of_the_whole():
    layout = TensorLayout((5, 2), (Shard(0, "tp"),), (8, 2))
    last = RankSource(ArraySource({"a": numbered((5, 2))}), Mesh.of(tp=2), {"a": layout}, 1)
    assert last["a"].tolist() == [[9, 10], [0, 0], [0, 0], [0, 0]]

"""Rows of key maps: each is undone by its inverse, and makes any part of a target from just what that part needs."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt import ArraySource, Join, KeyMap, MappedSource, Permute, Rename, Split, Stack, Tie, Transpose
from mf_ckpt.keymap.rows import Row, apply
from mf_ckpt.sources.blocks import parts
from mf_config.problems import UserError

QKV = np.load(Path(__file__).parents[1] / "data" / "fused_qkv" / "qkv.npz")


def numbered(*shape: int, start: int = 0) -> np.ndarray:
    return np.arange(start, start + int(np.prod(shape)), dtype=np.int64).reshape(shape)


@st.composite
def row_and_arrays(draw: st.DrawFn) -> tuple[Row, list[np.ndarray]]:
    """A row of any kind that loses nothing, and arrays for it with different elements everywhere."""
    kind = draw(st.sampled_from(["rename", "join", "split", "transpose", "stack", "unstack", "permute"]))
    width = draw(st.integers(1, 3))
    if kind == "rename":
        return Rename("a", "b"), [numbered(3, width)]
    if kind == "transpose":
        axes = tuple(draw(st.permutations(range(draw(st.integers(1, 4))))))
        return Transpose("a", "b", axes), [numbered(*(draw(st.integers(1, 4)) for _ in axes))]
    if kind in ("stack", "unstack"):
        count = draw(st.integers(1, 4))
        row = Stack("x.{e}.w", "x.w", over="e", count=count)
        if kind == "unstack":
            return row.inverse(), [numbered(count, 2, width)]
        return row, [numbered(2, width, start=100 * expert) for expert in range(count)]
    if kind == "permute":
        size = draw(st.integers(1, 4)) * 2
        rotated = draw(st.integers(1, size // 2)) * 2
        tail = (width,) if draw(st.booleans()) else ()
        row = Permute("a", "b", head_size=size, rotary_size=rotated, to_halves=draw(st.booleans()))
        return row, [numbered(size * draw(st.integers(1, 3)), *tail)]
    groups, dim = draw(st.integers(1, 3)), draw(st.integers(0, 1))
    sizes = tuple(groups * size for size in draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))
    names = tuple("pqr"[: len(sizes)])
    shapes = [(size, width) if dim == 0 else (width, size) for size in sizes]
    arrays = [numbered(*shape, start=1000 * place) for place, shape in enumerate(shapes)]
    join = Join(names, "whole", sizes, dim, groups)
    return (join, arrays) if kind == "join" else (join.inverse(), apply(join, arrays))


@given(row_and_arrays())
def test_the_inverse_undoes_a_row(case: tuple[Row, list[np.ndarray]]):
    row, arrays = case
    back = apply(row.inverse(), apply(row, arrays))
    assert len(back) == len(arrays)
    assert all(np.array_equal(one, again) for one, again in zip(arrays, back, strict=True))
    assert row.inverse().inverse() == row


@given(row_and_arrays())
def test_a_row_only_moves_elements(case: tuple[Row, list[np.ndarray]]):
    row, arrays = case
    before, after = (np.concatenate([array.reshape(-1) for array in group]) for group in (arrays, apply(row, arrays)))
    assert sorted(before) == sorted(after)


@given(case=row_and_arrays(), most=st.integers(1, 7), data=st.data())
def test_parts_of_targets_read_every_element_once(counting, case, most: int, data: st.DataObject):
    row, arrays = case
    source = counting(ArraySource(dict(zip(row.sources, arrays, strict=True))))
    mapped = MappedSource(source, KeyMap([row]))
    for name, whole in zip(row.targets, apply(row, arrays), strict=True):
        assert mapped.info(name).shape == whole.shape
        for slices, count in data.draw(st.permutations(list(parts(whole.shape, most)))):
            found = mapped.raw(name, slices)
            assert found.size == count
            assert np.array_equal(found, whole[slices])
    assert source.read_once()


def test_the_rotary_conventions_by_hand():
    """A head of 6 rows of which 4 are rotated: pairs (0, 1), (2, 3) become (0, 2), (1, 3) when halves are apart."""
    row = Permute("a", "b", head_size=6, rotary_size=4)
    (halves,) = apply(row, [np.arange(12)])
    assert halves.tolist() == [0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11]


def test_the_rotary_conventions_as_meta_and_hugging_face_have_them():
    """Reference, section 7.6: view(heads, size / 2, 2, in) and exchange the middle two dimensions."""
    heads, size, width = 3, 8, 5
    interleaved = numbered(heads * size, width)
    expected = interleaved.reshape(heads, size // 2, 2, width).transpose(0, 2, 1, 3).reshape(heads * size, width)
    assert np.array_equal(apply(Permute("a", "b", head_size=size), [interleaved])[0], expected)


@pytest.mark.golden
def test_fused_qkv_in_block_order_and_group_by_group():
    parts_of = [QKV["q"], QKV["k"], QKV["v"]]
    blocks = Join(("q", "k", "v"), "qkv", sizes=(12, 6, 6))
    grouped = Join(("q", "k", "v"), "qkv", sizes=(12, 6, 6), groups=2)
    assert np.array_equal(apply(blocks, parts_of)[0], QKV["cat"])
    assert np.array_equal(apply(grouped, parts_of)[0], QKV["grouped"])
    for row, whole in ((blocks, "cat"), (grouped, "grouped")):
        back = apply(row.inverse(), [QKV[whole]])
        assert all(np.array_equal(one, again) for one, again in zip(parts_of, back, strict=True))


def test_a_tied_tensor_is_copied_and_equal_copies_are_one():
    row = Tie("embed", ("embed", "head"))
    embedding = numbered(4, 2)
    copies = apply(row, [embedding])
    assert [copy.tolist() for copy in copies] == [embedding.tolist()] * 2
    assert np.array_equal(apply(row.inverse(), copies)[0], embedding)
    with pytest.raises(UserError, match="'1' differs from '0'"):
        apply(row.inverse(), [embedding, embedding + 1])


@pytest.mark.parametrize(
    ("row", "arrays", "fault"),
    [
        (Stack("x.{e}", "x", over="e", count=2), [np.zeros(2), np.zeros(3)], r"F64 \[3\] beside F64 \[2\]"),
        (Stack("x.{e}", "x", over="e", count=2), [np.zeros(2), np.zeros(2, np.float32)], r"F32 \[2\] beside F64"),
        (Stack("x.{e}", "x", over="e", count=2).inverse(), [np.zeros((3, 2))], "2 experts first"),
        (Transpose("a", "b"), [np.zeros(3)], r"has shape \[3\]. Allowed: 2 dimensions"),
        (Permute("a", "b", head_size=4), [np.zeros((6, 2))], "heads of 4 rows first"),
        (Join(("a", "b"), "c", (1, 1)), [np.zeros((1, 2)), np.zeros((1, 3))], "beside"),
        (Split("a", ("b", "c"), (1, 1)), [np.zeros((3, 2))], "has length 3"),
    ],
)
def test_tensors_of_the_wrong_form_are_refused(row: Row, arrays: list[np.ndarray], fault: str):
    with pytest.raises(UserError, match=fault):
        apply(row, arrays)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: Transpose("a", "b", (0, 0)), "don't name each dimension once"),
        (lambda: Permute("a", "b", head_size=5), "even part"),
        (lambda: Permute("a", "b", head_size=4, rotary_size=6), "even part"),
        (lambda: Stack("x.{e}", "x", over="expert", count=2), r"placeholder \{expert\}"),
        (lambda: Stack("x.{e}", "x", over="e", count=0), "at least 1"),
        (lambda: Join(("a",), "b", (3,), groups=2), "2 groups don't divide"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused(make, fault: str):
    with pytest.raises(ValueError, match=fault):
        make()


def test_a_stack_of_many_experts_is_looked_up_by_name():
    keys = KeyMap([Stack("l.{layer}.experts.{e}.w1", "l.{layer}.w1", over="e", count=300)])
    steps = keys.steps(f"l.{layer}.experts.{expert}.w1" for layer in range(3) for expert in range(300))
    assert [step.targets for step in steps] == [("l.0.w1",), ("l.1.w1",), ("l.2.w1",)]
    assert len(keys.inverse.steps(["l.2.w1"])[0].targets) == 300
    with pytest.raises(UserError, match=r"1 tensors are missing .* 'l\.0\.experts\.7\.w1'"):
        keys.steps(f"l.0.experts.{expert}.w1" for expert in range(300) if expert != 7)

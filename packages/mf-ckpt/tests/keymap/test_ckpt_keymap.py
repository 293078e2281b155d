"""Translation of names and tensors, and its inversion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt import Join, KeyMap, Rename, Split
from mf_ckpt.keymap.rows import Row, apply
from mf_config.problems import UserError

HEADS = Join(
    ("layers.{layer}.wq", "layers.{layer}.wk", "layers.{layer}.wv"), "model.layers.{layer}.qkv_proj", sizes=(4, 2, 2)
)
KEYS = KeyMap(
    [
        Rename("tok_embeddings.weight", "model.embed_tokens.weight"),
        Rename("layers.{layer}.attention.wo.weight", "model.layers.{layer}.self_attn.o_proj.weight"),
        Rename("layers.{layer}.experts.{expert}.w1", "model.layers.{layer}.mlp.experts.{expert}.gate_proj"),
        HEADS,
    ]
)
LETTERS = st.text("abc_.", min_size=1, max_size=6)


def test_names_go_forward_and_backward():
    pairs = {
        "tok_embeddings.weight": "model.embed_tokens.weight",
        "layers.31.attention.wo.weight": "model.layers.31.self_attn.o_proj.weight",
        "layers.0.experts.12.w1": "model.layers.0.mlp.experts.12.gate_proj",
    }
    for source, target in pairs.items():
        assert KEYS.forward(source) == target
        assert KEYS.backward(target) == source


def test_placeholders_may_change_places():
    keys = KeyMap([Rename("l.{layer}.e.{expert}.w", "experts.{expert}.of.{layer}.w")])
    assert keys.forward("l.3.e.7.w") == "experts.7.of.3.w"
    assert keys.backward("experts.7.of.3.w") == "l.3.e.7.w"


@given(st.lists(st.tuples(LETTERS, LETTERS), max_size=6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_backward_undoes_forward_for_any_table(words: list[tuple[str, str]], layer: int, expert: int):
    rows = [
        Rename(f"{number}.{left}.{{layer}}.{{expert}}.x", f"y.{{expert}}.{right}.{{layer}}/{number}")
        for number, (left, right) in enumerate(words)
    ]
    keys = KeyMap(rows)
    for row in rows:
        name = row.source.format(layer=layer, expert=expert)
        target = row.target.format(layer=layer, expert=expert)
        assert keys.forward(name) == target
        assert keys.backward(target) == name
        assert keys.inverse.inverse.forward(name) == target


def test_a_name_without_row_suggests_the_nearest_pattern():
    with pytest.raises(
        UserError, match=r"'layers.3.attention.w.weight' .* Did you mean layers.{layer}.attention.wo.weight"
    ):
        KEYS.forward("layers.3.attention.w.weight")


@pytest.mark.parametrize(
    "name", ["layers.01.wq", "layers.x.wq", "layers..wq", "xlayers.1.wq", "layers.1.wq.x", "layers.1xwq"]
)
def test_only_whole_names_match(name: str):
    with pytest.raises(UserError, match="matches no row"):
        KEYS.forward(name)


def test_a_part_goes_to_the_whole_and_the_whole_needs_steps():
    assert KEYS.forward("layers.5.wk") == "model.layers.5.qkv_proj"
    with pytest.raises(ValueError, match=r"becomes 3 tensors: layers\.5\.wq, layers\.5\.wk, layers\.5\.wv"):
        KEYS.backward("model.layers.5.qkv_proj")


def test_steps_take_every_name_once():
    names = ["layers.1.wk", "tok_embeddings.weight", "layers.1.wq", "layers.0.attention.wo.weight", "layers.1.wv"]
    steps = KEYS.steps(names)
    assert [(step.sources, step.targets) for step in steps] == [
        (("layers.1.wq", "layers.1.wk", "layers.1.wv"), ("model.layers.1.qkv_proj",)),
        (("tok_embeddings.weight",), ("model.embed_tokens.weight",)),
        (("layers.0.attention.wo.weight",), ("model.layers.0.self_attn.o_proj.weight",)),
    ]


def test_steps_report_all_unmatched_names_at_once():
    with pytest.raises(UserError, match=r"2 tensors match no row of the key map: 'x', 'y'\."):
        KEYS.steps(["x", "tok_embeddings.weight", "y"])


def test_steps_report_a_missing_part():
    with pytest.raises(UserError, match=r"1 tensors are missing beside others of their row: 'layers\.1\.wv'"):
        KEYS.steps(["layers.1.wq", "layers.1.wk"])


@given(data=st.data(), dim=st.integers(0, 2), sizes=st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_split_undoes_join(data: st.DataObject, dim: int, sizes: list[int]):
    names = tuple(f"part.{letter}" for letter in "abcd"[: len(sizes)])
    shape = [2, 3, 2]
    parts = []
    for size in sizes:
        shape[dim] = size
        parts.append(
            np.array(data.draw(st.randoms()).choices(range(100), k=int(np.prod(shape))), np.int64).reshape(shape)
        )
    row = Join(names, "whole", tuple(sizes), dim)
    (whole,) = apply(row, parts)
    assert whole.shape[dim] == sum(sizes)
    back = apply(row.inverse(), [whole])
    assert all(np.array_equal(part, again) for part, again in zip(parts, back, strict=True))
    assert row.inverse().inverse() == row


def test_a_join_puts_the_parts_in_order():
    parts = [np.full((rows, 2), value) for rows, value in ((4, 1), (2, 2), (2, 3))]
    (whole,) = apply(HEADS, parts)
    assert whole[:, 0].tolist() == [1, 1, 1, 1, 2, 2, 3, 3]


def test_parts_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"joins lengths \(4, 2, 2\) along dimension 0, found \(4, 2, 1\)"):
        apply(HEADS, [np.zeros((rows, 2)) for rows in (4, 2, 1)])
    with pytest.raises(ValueError, match="has length 9 along dimension 0"):
        apply(HEADS.inverse(), [np.zeros((9, 2))])


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([Rename("a.{layer}", "b")], "same placeholders"),
        ([Rename("a.{layer}.{layer}", "b.{layer}.{layer}")], "each once"),
        ([Rename("a{layer}{expert}", "b.{layer}.{expert}")], "touches"),
        ([Rename("a1{layer}", "b{layer}")], "touches"),
        ([Rename("a{layer}", "b{layer}0")], "touches"),
        ([Rename("a.{Layer}", "b.{Layer}")], "brace outside a placeholder"),
        ([Rename("a.{layer}", "b.{layer}"), Rename("a.{block}", "c.{block}")], "same side"),
        ([Rename("a", "c"), Rename("b", "c")], "same side"),
        ([Split("a", (), ())], "same placeholders"),
    ],
)
def test_a_table_that_could_not_be_inverted_is_refused(rows: list[Row], fault: str):
    with pytest.raises(ValueError, match=fault):
        KeyMap(rows)


def test_a_name_that_two_rows_take_is_refused():
    keys = KeyMap([Rename("h.{layer}.w", "x.{layer}"), Rename("h.0.w", "first")])
    with pytest.raises(ValueError, match=r"2 rows take tensor 'h\.0\.w'"):
        keys.forward("h.0.w")

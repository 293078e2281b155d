"""Reading and writing strategy files.

`strategy.ckpt` and `strategy.json` are what MindSpore 2.10 saved (`strategy_ckpt_config`) when it compiled a Llama of
one layer on its Ascend front end with dp 2, mp 4 and a parallel optimizer; `merged.ckpt` is what its
`merge_pipeline_strategys` made of those of ranks 0 and 7 with dp 2, mp 2 and two stages.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_ckpt.formats.mindspore_ckpt.strategy import Strategy, merge_strategies, read_strategy, write_strategy
from mf_config.problems import UserError

DATA = Path(__file__).parents[1] / "data" / "mindspore"


def test_a_file_of_mindspore_says_how_parameters_are_divided():
    strategy = read_strategy(DATA / "strategy.ckpt")
    assert list(strategy.stages) == [0]
    layouts = strategy.stages[0]
    assert len(layouts) == 36
    assert layouts["layers.0.wq.weight"] == ParallelLayout((2, 4), ((0,), ()), 4, -1)
    assert layouts["layers.0.w2.weight"] == ParallelLayout((2, 4), ((), (0,)), 4, -1)
    assert layouts["layers.0.norm1.weight"] == ParallelLayout((2, 4), ((),), 0, 0)


def test_the_json_form_says_the_same():
    assert read_strategy(DATA / "strategy.json") == read_strategy(DATA / "strategy.ckpt")


def test_a_merged_file_has_all_stages():
    strategy = read_strategy(DATA / "merged.ckpt")
    assert list(strategy.stages) == [0, 1]
    assert "embed.table" in strategy.stages[0] and "embed.table" not in strategy.stages[1]
    assert strategy.stages[1]["head.weight"] == ParallelLayout((2, 2), ((0,), ()), 2, -1)


@pytest.mark.parametrize("ending", ["ckpt", "json"])
@pytest.mark.parametrize("name", ["strategy.ckpt", "merged.ckpt"])
def test_what_is_written_is_read_again(tmp_path, ending, name):
    strategy = read_strategy(DATA / name)
    write_strategy(tmp_path / f"s.{ending}", strategy)
    assert read_strategy(tmp_path / f"s.{ending}") == strategy


def varint_list(values):
    return b"".join(bytes([8, value]) for value in values)


def test_two_axes_on_one_dimension_take_the_form_of_mindspore(tmp_path):
    strategy = Strategy({0: {"w": ParallelLayout((2, 4), ((1, 0), ()))}})
    write_strategy(tmp_path / "s.ckpt", strategy)
    write_strategy(tmp_path / "s.json", strategy)
    assert read_strategy(tmp_path / "s.ckpt") == read_strategy(tmp_path / "s.json") == strategy
    # One TensorMap message for each dimension: field 2 of the layout, -1 in ten bytes.
    assert (
        b"\x12\x04" + varint_list([1, 0]) + b"\x12\x0b\x08" + b"\xff" * 9 + b"\x01"
        in (tmp_path / "s.ckpt").read_bytes()
    )
    assert json.loads((tmp_path / "s.json").read_text())["parallel_layout_item"]["w"]["tensor_map"] == [[1, 0], [-1]]


def test_files_of_ranks_are_merged_by_stage():
    merged = read_strategy(DATA / "merged.ckpt")
    one, two = (Strategy({stage: layouts}) for stage, layouts in merged.stages.items())
    assert merge_strategies([(Path("b"), two), (Path("a"), one), (Path("c"), two)]) == merged
    other = Strategy({1: {"head.weight": ParallelLayout((4,), ((), ()))}})
    with pytest.raises(CheckpointError, match="c: divides the parameters of stage 1 differently"):
        merge_strategies([(Path("b"), two), (Path("c"), other)])


def item(**values):
    layout = {"dev_matrix": [2, 4], "tensor_map": [0, -1], "opt_weight_shard_step": 0, "opt_weight_shard_size": 0}
    return {"parallel_layout_item": {"w": {**layout, **values}}}


FAULTS = {
    "no items": ({}, "no parallel_layout_item"),
    "empty": ({"parallel_layout_item": {}}, "names no parameters"),
    "no object": ({"parallel_layout_item": {"w": 3}}, "'w': an object is needed"),
    "no map": (item(tensor_map=None), "'w': has no tensor_map"),
    "no matrix": (item(dev_matrix=None), "dev_matrix must be a list"),
    "matrix of 0": (item(dev_matrix=[2, 0]), r"device matrix \[2, 0\]"),
    "absurd matrix": (item(dev_matrix=[2**40, 4]), "device matrix"),
    "axis beyond the matrix": (item(tensor_map=[2, -1]), "doesn't fit device matrix"),
    "axis twice": (item(tensor_map=[0, 0]), "doesn't fit device matrix"),
    "negative axis": (item(tensor_map=[-2, 0]), "doesn't fit device matrix"),
    "no number": (item(tensor_map=["0", -1]), "tensor_map must be a whole number"),
    "boolean": (item(opt_weight_shard_step=True), "opt_weight_shard_step must be a whole number"),
    "size": (item(opt_weight_shard_size=-2), "a size from -1"),
    "field": (item(field=7), "field 7 is an uneven division"),
    "uneven": (item(param_split_shape=[3, 5]), r"param_split_shape \[3, 5\] is an uneven division"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_document_is_refused_in_words(tmp_path, fault):
    document, message = FAULTS[fault]
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(CheckpointError, match=message):
        read_strategy(tmp_path / "s.json")


def test_a_faulty_message_is_refused_in_words(tmp_path):
    content = (DATA / "strategy.ckpt").read_bytes()
    for damaged, message in (
        (content[:-3], "truncated or damaged"),
        (b"\x08\x01", "names no parameters"),
        (b"\x1a\x00", "lacks its name or its content"),
        (b"\x1a\x05\x0a\x01w\x12\x00", "'w': has no device matrix"),
        (content + content, "twice"),
    ):
        (tmp_path / "s.ckpt").write_bytes(damaged)
        with pytest.raises(CheckpointError, match=message):
            read_strategy(tmp_path / "s.ckpt")
    with pytest.raises(CheckpointError, match="no strategy file"):
        read_strategy(tmp_path / "none.ckpt")


@given(data=st.data())
def test_a_mutated_message_is_read_or_refused_without_a_crash(tmp_path_factory, data):
    content = bytearray((DATA / "merged.ckpt").read_bytes()[:400])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("mutated") / "s.ckpt"
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        read_strategy(path)
    except CheckpointError as error:
        assert error.what


def test_the_optimizer_cannot_divide_a_scalar():
    with pytest.raises(UserError, match="has no dimensions"):
        ParallelLayout((4,), (), 1, 4)

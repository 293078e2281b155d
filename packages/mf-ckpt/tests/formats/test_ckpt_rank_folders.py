"""Distributed checkpoints of MindSpore, written here piece by piece."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.formats.mindspore_ckpt.ckpt_writer import CkptWriter
from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_ckpt.formats.mindspore_ckpt.rank_folders import is_rank_folder, open_rank_folders
from mf_ckpt.formats.mindspore_ckpt.strategy import Strategy, read_strategy, write_strategy

DATA = Path(__file__).parents[1] / "data" / "mindspore"
ROWS = ParallelLayout((2,), ((0,), ()))
WHOLE = np.arange(24, dtype=np.float32).reshape(6, 4)


def save(path, **tensors):
    with CkptWriter(path) as writer:
        for name, array in tensors.items():
            writer.add(name.replace("__", "."), array)


@pytest.fixture
def run(tmp_path):
    """The output folder of a run on two ranks that saved steps 1_2 and 1_10."""
    for step, offset in (("1_2", 100), ("1_10", 0)):
        for rank, piece in enumerate(np.split(WHOLE + offset, 2)):
            save(tmp_path / f"checkpoint/rank_{rank}/l_rank_{rank}-{step}.ckpt", w=piece, step_num=np.int32(offset))
    write_strategy(tmp_path / "strategy/ckpt_strategy_rank_0.ckpt", Strategy({0: {"w": ROWS}}))
    write_strategy(tmp_path / "strategy/ckpt_strategy_rank_1.ckpt", Strategy({0: {"w": ROWS}}))
    return tmp_path


def test_the_newest_is_read_whole_with_the_strategy_beside_it(run):
    assert is_rank_folder(run / "checkpoint") and not is_rank_folder(run) and not is_rank_folder(run / "none")
    source = open_rank_folders(run / "checkpoint")
    np.testing.assert_array_equal(source["w"], WHOLE)
    np.testing.assert_array_equal(source.read("w", (slice(2, 4), slice(1, 3))), WHOLE[2:4, 1:3])
    assert source["step_num"].item() == 0


@pytest.mark.parametrize("place", ["strategy", "strategy/ckpt_strategy_rank_1.ckpt"])
def test_a_named_file_of_any_rank_and_a_named_strategy_are_taken(run, place):
    source = open_rank_folders(run / "checkpoint", run / place, "l_rank_1-1_2.ckpt")
    np.testing.assert_array_equal(source["w"], WHOLE + 100)


def test_a_step_that_one_rank_lacks_is_not_the_newest(run):
    (run / "checkpoint/rank_1/l_rank_1-1_10.ckpt").unlink()
    assert open_rank_folders(run / "checkpoint")["step_num"].item() == 100


def test_a_step_later_than_the_last_complete_one_is_not_the_newest(run):
    for rank, step in ((0, 10), (1, 2)):
        meta = {"last_epoch": 1, "last_step": step, "last_ckpt_file": f"l_rank_{rank}-1_{step}.ckpt"}
        (run / f"checkpoint/rank_{rank}/meta.json").write_text(json.dumps(meta))
    assert open_rank_folders(run / "checkpoint")["step_num"].item() == 100


def test_names_without_a_step_are_told_by_their_time(tmp_path):
    for name, time, number in (("a", 2_000, 7), ("b", 1_000, 8)):
        path = tmp_path / f"rank_0/{name}_rank_0-network.ckpt"
        save(path, w=np.float32(number))
        os.utime(path, (time, time))
    assert open_rank_folders(tmp_path)["w"].item() == 7


def test_files_of_the_transformation_are_told_apart_by_rank(run):
    for rank, piece in enumerate(np.split(WHOLE, 2)):
        save(run / f"transformed_checkpoint/l/rank_{rank}/checkpoint_{rank}.ckpt", w=piece)
    np.testing.assert_array_equal(open_rank_folders(run / "transformed_checkpoint/l")["w"], WHOLE)
    source = open_rank_folders(run / "transformed_checkpoint/l", file_name="checkpoint_1.ckpt")
    np.testing.assert_array_equal(source["w"], WHOLE)


def test_a_file_with_the_number_of_another_rank_is_not_taken(run):
    for step in ("1_2", "1_10"):
        (run / f"checkpoint/rank_1/l_rank_1-{step}.ckpt").rename(run / f"checkpoint/rank_1/l_rank_0-{step}.ckpt")
    refused("no .ckpt file that all 2 ranks have", run / "checkpoint")


def test_one_rank_needs_no_strategy(tmp_path):
    save(tmp_path / "rank_0/l_rank_0-1_1.ckpt", w=WHOLE)
    np.testing.assert_array_equal(open_rank_folders(tmp_path)["w"], WHOLE)


def test_a_pipeline_as_mindspore_cuts_it_is_read_whole(tmp_path):
    """The strategy of MindSpore; the pieces by its rule: columns or rows r % 2, and of the rows the half r // 2 % 2."""
    strategy = read_strategy(DATA / "merged.ckpt")
    random = np.random.default_rng(0)
    wholes = {}
    for stage, layouts in strategy.stages.items():
        for name, layout in layouts.items():
            wholes[name] = random.standard_normal([8] * len(layout.tensor_map)).astype(np.float32)
        for rank in range(4):
            pieces = {}
            for name, layout in layouts.items():
                piece = wholes[name]
                for dim, axes in enumerate(layout.tensor_map):
                    if axes:
                        piece = np.split(piece, 2, dim)[rank % 2]
                pieces[name] = np.split(piece, 2)[rank // 2] if layout.opt_shard_size else piece
            save(tmp_path / f"rank_{4 * stage + rank}/c_rank_{4 * stage + rank}-1_1.ckpt", **pieces)
    source = open_rank_folders(tmp_path, DATA / "merged.ckpt")
    assert set(source) == set(wholes)
    assert all(np.array_equal(source[name], whole) for name, whole in wholes.items())


def refused(message, *arguments):
    with pytest.raises(CheckpointError, match=message):
        open_rank_folders(*arguments)


def test_a_missing_rank_is_refused(run):
    shutil.rmtree(run / "checkpoint/rank_0")
    refused(r"folders of ranks \[1\]. Allowed: rank_0 to rank_N without a gap", run / "checkpoint")


def test_a_missing_strategy_is_refused(run):
    shutil.rmtree(run / "strategy")
    refused("no strategy file that says how", run / "checkpoint")


def test_an_empty_strategy_folder_is_refused(run):
    (run / "none").mkdir()
    refused("holds no strategy files", run / "checkpoint", run / "none")


def test_a_strategy_of_other_ranks_is_refused(run):
    refused(r"2 ranks, but the strategy has stages \[0\] of 8 devices", run / "checkpoint", DATA / "strategy.ckpt")


def test_a_missing_named_file_is_refused_with_what_there_is(run):
    refused(r"no file 'l_rank_0-1_12.ckpt'. Allowed: .*Did you mean", run / "checkpoint", None, "l_rank_0-1_12.ckpt")


def test_ranks_without_a_common_file_are_refused(run):
    for rank, step in ((0, "1_2"), (1, "1_10")):
        (run / f"checkpoint/rank_{rank}/l_rank_{rank}-{step}.ckpt").unlink()
    refused("no .ckpt file that all 2 ranks have", run / "checkpoint")


def test_frozen_weights_that_the_strategy_leaves_out_are_refused(run):
    for rank in range(2):
        save(run / f"checkpoint/rank_{rank}/l_rank_{rank}-2_1.ckpt", w=WHOLE[:3], frozen=np.full(4, rank, np.float32))
    refused("how 1 tensors are cut: 'frozen'. Allowed: .*only_trainable_params False", run / "checkpoint")


def test_a_tensor_that_all_ranks_have_alike_needs_no_strategy(run):
    for rank in range(2):
        save(run / f"checkpoint/rank_{rank}/l_rank_{rank}-2_1.ckpt", w=WHOLE[:3], rates=np.arange(5.0))
    assert open_rank_folders(run / "checkpoint")["rates"].tolist() == [0, 1, 2, 3, 4]


def test_pieces_of_other_shapes_than_their_neighbours_are_refused(run):
    save(run / "checkpoint/rank_0/l_rank_0-2_1.ckpt", w=WHOLE[:3])
    save(run / "checkpoint/rank_1/l_rank_1-2_1.ckpt", w=WHOLE[:2])
    refused(r"'w': rank 1 has a piece of shape \[2, 4\]. Allowed: \[3, 4\]", run / "checkpoint")


def test_a_link_out_of_the_folder_is_refused(run, tmp_path):
    file = run / "checkpoint/rank_1/l_rank_1-1_10.ckpt"
    file.rename(run / "elsewhere.ckpt")
    file.symlink_to(run / "elsewhere.ckpt")
    refused("symbolic link to .* outside", run / "checkpoint")


def test_a_scalar_with_a_layout_is_whole(run):
    write_strategy(run / "s.ckpt", Strategy({0: {"w": ROWS, "step_num": ParallelLayout((2,), ())}}))
    assert open_rank_folders(run / "checkpoint", run / "s.ckpt")["step_num"].shape == ()

"""MindSpore's own checkpoints, read and written without MindSpore: `.ckpt` files, strategy files, rank folders."""

from mf_ckpt.formats.mindspore_ckpt.ckpt_file import CkptTensors, is_ckpt, open_ckpt
from mf_ckpt.formats.mindspore_ckpt.ckpt_folder import is_ckpt_folder, open_ckpt_folder
from mf_ckpt.formats.mindspore_ckpt.ckpt_writer import CkptWriter
from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_ckpt.formats.mindspore_ckpt.rank_folders import is_rank_folder, open_rank_folders
from mf_ckpt.formats.mindspore_ckpt.strategy import Strategy, merge_strategies, read_strategy, write_strategy
from mf_ckpt.formats.mindspore_ckpt.strategy_layouts import from_strategy, to_strategy

__all__ = [
    "CkptTensors",
    "CkptWriter",
    "ParallelLayout",
    "Strategy",
    "from_strategy",
    "is_ckpt",
    "is_ckpt_folder",
    "is_rank_folder",
    "merge_strategies",
    "open_ckpt",
    "open_ckpt_folder",
    "open_rank_folders",
    "read_strategy",
    "to_strategy",
    "write_strategy",
]

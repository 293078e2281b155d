"""Distributed checkpoints of MindSpore: folders `rank_0`, `rank_1`, …, and the strategy that says how they were cut."""

from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.formats.mindspore_ckpt.ckpt_file import CkptTensors, open_ckpt
from mf_ckpt.formats.mindspore_ckpt.ckpt_folder import check_inside, ckpt_files
from mf_ckpt.formats.mindspore_ckpt.rank_names import choose_files, rank_folders
from mf_ckpt.formats.mindspore_ckpt.strategy import Strategy, merge_strategies, read_strategy
from mf_ckpt.formats.mindspore_ckpt.strategy_layouts import from_strategy
from mf_ckpt.sources.sliced import SlicedSource
from mf_ckpt.sources.source import Source, some
from mf_config.layout import Mesh, TensorLayout
from mf_config.problems import UserError

STRATEGY_FOLDER = "strategy"
"""Where MindFormers puts the strategy files, beside the folder that holds the rank folders."""

_MOST_COMPARED_BYTES = 1 << 20
"""A tensor that the strategy doesn't name counts as whole where all ranks hold the same; larger ones aren't read."""


def is_rank_folder(path: Path) -> bool:
    """Whether a path is a folder that holds `rank_N` folders with `.ckpt` files."""
    return any(ckpt_files(folder) for folder in rank_folders(path).values())


def open_rank_folders(path: str | Path, strategy: str | Path | None = None, file_name: str | None = None) -> Source:
    """Open a distributed checkpoint as whole tensors; of each tensor only the pieces that are needed are read.

    Args:
        path: the folder that holds the rank folders, numbered from 0 without a gap.
        strategy: a strategy file of one stage, a merged one, or a folder of one for each rank or stage. Where None,
            the folder `strategy` beside `path` or beside the folder above it, where there is one. Not needed for a
            single rank.
        file_name: the file meant in each rank folder, with any rank's number in it; None for the newest that all
            have.

    Returns:
        The whole tensors.

    Raises:
        CheckpointError: folders, files or the strategy are missing or damaged, or don't fit each other.
    """
    path = Path(path)
    folders = rank_folders(path)
    if not folders or list(folders) != list(range(len(folders))):
        raise CheckpointError(path, f"has folders of ranks {list(folders)}. Allowed: rank_0 to rank_N without a gap.")
    files = choose_files(path, folders, file_name)
    check_inside(path, files.values())
    ranks = {rank: open_ckpt(file) for rank, file in files.items()}
    if strategy is None and len(ranks) == 1:
        return ranks[0]
    known = _read(_strategy_place(path) if strategy is None else Path(strategy))
    try:
        mesh, layouts = _layouts(ranks, known)
        return SlicedSource(ranks, mesh, layouts)
    except UserError as error:
        raise CheckpointError(path, str(error)) from None


def _strategy_place(path: Path) -> Path:
    for folder in (path.parent, path.parent.parent, path):
        if (folder / STRATEGY_FOLDER).is_dir():
            return folder / STRATEGY_FOLDER
    raise CheckpointError(
        path,
        "is divided over several ranks, and there is no strategy file that says how. Allowed: a folder "
        f"{STRATEGY_FOLDER!r} beside it, or the strategy's path.",
    )


def _read(place: Path) -> Strategy:
    if not place.is_dir():
        return read_strategy(place)
    files = [file for form in ("*.ckpt", "*.json") for file in sorted(place.glob(form)) if file.is_file()]
    merged = [file for file in files if "rank" not in file.name]
    if not files:
        raise CheckpointError(place, "holds no strategy files. Allowed: files *.ckpt or *.json of MindSpore.")
    return merge_strategies((file, read_strategy(file)) for file in merged or files)


def _layouts(ranks: Mapping[int, CkptTensors], strategy: Strategy) -> tuple[Mesh, dict[str, TensorLayout]]:
    stages = strategy.stages
    first = next(layout for layouts in stages.values() for layout in layouts.values())
    devices = prod(first.device_matrix)
    if list(stages) != list(range(len(stages))) or devices * len(stages) != len(ranks):
        raise UserError(
            f"there are {len(ranks)} ranks, but the strategy has stages {list(stages)} of {devices} devices each"
        )
    heads = {stage: ranks[stage * devices] for stage in stages}
    shapes = {stage: {name: head.info(name).shape for name in head} for stage, head in heads.items()}
    mesh, layouts = from_strategy(strategy, shapes)
    for stage, head in heads.items():
        others = [ranks[rank] for rank in range(stage * devices, (stage + 1) * devices)]
        missing = [name for name in head if name not in layouts]
        cut = [name for name in missing if not _is_whole(name, head, others)]
        if cut:
            raise UserError(
                f"the strategy doesn't say how {len(cut)} tensors are cut: {some(cut)}. Allowed: a strategy that was "
                "saved with only_trainable_params False, which names frozen weights too."
            )
        layouts.update({name: TensorLayout(head.info(name).shape) for name in missing})
    return mesh, layouts


def _is_whole(name: str, head: CkptTensors, ranks: Iterable[CkptTensors]) -> bool:
    info = head.info(name)
    if info.nbytes > _MOST_COMPARED_BYTES:
        return False
    bits = head.raw(name).tobytes()
    return all(name in rank and rank.info(name) == info and rank.raw(name).tobytes() == bits for rank in ranks)

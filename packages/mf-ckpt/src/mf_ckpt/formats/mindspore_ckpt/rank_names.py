"""Which `.ckpt` file of each rank folder belongs to the checkpoint that is meant.

MindFormers saves `PREFIX_rank_R-EPOCH_STEP.ckpt` into the folder `rank_R`, several of them as a run goes on, and tells
in `meta.json` which one was complete last.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from mf_ckpt.disk.files import CheckpointError, read_json
from mf_ckpt.formats.mindspore_ckpt.ckpt_folder import ckpt_files
from mf_config.problems import name_values
from mf_config.suggest import nearest

META = "meta.json"

_FOLDER = re.compile(r"rank_(0|[1-9]\d{0,6})\Z")
_STEP = re.compile(r"-(\d{1,12})_(\d{1,12})\.ckpt\Z")


def rank_folders(path: Path) -> dict[int, Path]:
    """The folders `rank_N` of a folder by rank, in order; symbolic links don't count."""
    matches = ((_FOLDER.match(entry.name), entry) for entry in path.iterdir()) if path.is_dir() else ()
    found = {int(match[1]): entry for match, entry in matches if match and entry.is_dir() and not entry.is_symlink()}
    return dict(sorted(found.items()))


def choose_files(root: Path, folders: Mapping[int, Path], file_name: str | None) -> dict[int, Path]:
    """One file of each rank.

    Args:
        root: the folder of the rank folders, for messages.
        folders: the folder of each rank.
        file_name: the file meant, with any rank's number in it; None for the newest: that of the highest epoch and step
            that every rank has (and, where all ranks say it, that was complete), or of the latest time where the
            names don't tell.

    Returns:
        The file of each rank, all of the same name but for the rank.

    Raises:
        CheckpointError: a rank lacks the file, or has none that all others have too.
    """
    names = {
        rank: {_without_rank(path.name, str(rank)): path for path in ckpt_files(folder)}
        for rank, folder in folders.items()
    }
    common = set.intersection(*(set(own) for own in names.values()))
    if file_name is not None:
        wanted = _without_rank(file_name, r"\d+")
        if wanted not in common:
            raise CheckpointError(root, _missing(file_name, wanted, names))
        return {rank: own[wanted] for rank, own in names.items()}
    if not common:
        shown = name_values(sorted({path.name for own in names.values() for path in own.values()}))
        raise CheckpointError(root, f"has no .ckpt file that all {len(folders)} ranks have. Found: {shown}.")
    newest = _newest(common, names, folders)
    return {rank: own[newest] for rank, own in names.items()}


def _newest(common: set[str], names: Mapping[int, Mapping[str, Path]], folders: Mapping[int, Path]) -> str:
    def age(name: str) -> float:
        return min(own[name].stat().st_mtime for own in names.values())

    steps = {name: (int(match[1]), int(match[2])) for name in common if (match := _STEP.search(name))}
    if not steps:
        return max(common, key=age)
    last = _last_complete(folders)
    complete = {name: step for name, step in steps.items() if last is None or step <= last} or steps
    return max(complete, key=lambda name: (complete[name], age(name)))


def _last_complete(folders: Mapping[int, Path]) -> tuple[int, int] | None:
    """The epoch and step that all ranks had completed, None where one doesn't say."""
    found = []
    for folder in folders.values():
        meta = folder / META
        document = read_json(meta) if meta.is_file() else {}
        epoch, step = document.get("last_epoch"), document.get("last_step")
        if type(epoch) is not int or type(step) is not int:
            return None
        found.append((epoch, step))
    return min(found)


def _missing(file_name: str, wanted: str, names: Mapping[int, Mapping[str, Path]]) -> str:
    lacking = [rank for rank, own in names.items() if wanted not in own]
    there = sorted({path.name for own in names.values() for path in own.values()})
    guess = nearest(file_name, there)
    hint = f" Did you mean {guess}?" if guess else ""
    return f"ranks {name_values(lacking)} have no file {file_name!r}. Allowed: {name_values(there)}.{hint}"


def _without_rank(name: str, rank: str) -> str:
    """A file's name with a star for the rank: after `rank_`, or at the end, where MindSpore's transformation puts it.

    Args:
        name: the name.
        rank: the rank, or the regular expression of any.
    """
    starred, count = re.subn(rf"(?<=rank_){rank}(?!\d)", "*", name)
    return starred if count or _STEP.search(name) else re.sub(rf"(?<!\d){rank}(?=\.ckpt\Z)", "*", name)

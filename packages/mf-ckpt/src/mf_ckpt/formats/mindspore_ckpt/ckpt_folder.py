"""A folder of `.ckpt` files that together are one checkpoint, such as a base model and its LoRA weights."""

from collections.abc import Iterable
from pathlib import Path

from mf_ckpt.disk.files import CheckpointError
from mf_ckpt.formats.mindspore_ckpt.ckpt_file import open_ckpt
from mf_ckpt.sources.combined import CombinedSource
from mf_ckpt.sources.source import Source, some


def is_ckpt_folder(path: Path) -> bool:
    """Whether a path is a folder that holds `.ckpt` files itself."""
    return path.is_dir() and bool(ckpt_files(path))


def ckpt_files(folder: Path) -> list[Path]:
    """The `.ckpt` files of a folder, by name; hidden ones don't count."""
    return [path for path in sorted(folder.glob("*.ckpt")) if path.is_file() and not path.name.startswith(".")]


def check_inside(root: Path, files: Iterable[Path]) -> None:
    """Make sure that no file of a checkpoint is a symbolic link that leaves it.

    Raises:
        CheckpointError: one does.
    """
    for file in files:
        if file.is_symlink() and not file.resolve().is_relative_to(root.resolve()):
            raise CheckpointError(file, f"is a symbolic link to {file.resolve()}, outside the checkpoint's folder")


def open_ckpt_folder(path: str | Path) -> Source:
    """Open all `.ckpt` files of a folder as one source.

    Args:
        path: the folder.

    Returns:
        The tensors of all files, file by file in the order of their names.

    Raises:
        CheckpointError: there is no such file, one is damaged, or two hold the same tensor: which one counts would be
            a guess.
    """
    folder = Path(path)
    holders: dict[str, Source] = {}
    files = ckpt_files(folder)
    check_inside(folder, files)
    for file in files:
        source = open_ckpt(file)
        twice = [name for name in source if name in holders]
        if twice:
            raise CheckpointError(
                file,
                f"holds {len(twice)} tensors that another file of the folder holds too: {some(twice)}. "
                "Allowed: files of different tensors (a base model and its LoRA weights), or the path of one file.",
            )
        holders.update(dict.fromkeys(source, source))
    if not holders:
        raise CheckpointError(folder, "holds no .ckpt file with tensors")
    return CombinedSource(holders, str(folder))

"""Which files a path stands for."""

from collections.abc import Collection
from pathlib import Path

from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest
from mf_data.texts.compressed import plain_suffix


def find_files(root: str | Path, suffixes: Collection[str], key: str = "dataset_dir") -> list[Path]:
    """The files of some kinds below a folder, its subfolders included, in order of their paths; or a file itself.

    Args:
        root: a folder or a file.
        suffixes: endings of the names to take, such as `.jsonl`; with .gz, .xz or .zst behind them they count too.
        key: the key or option that names `root`, for messages.
    Raises:
        UserError: there is no such path (the message names the nearest), or no such file.
    """
    place = Path(root)
    allowed = f"a {name_values(suffixes)} file, also with .gz, .xz or .zst, or a folder of them"
    if not str(root):
        raise UserError(f"{key}: is empty. Allowed: {allowed}.")
    if not place.exists():
        near = nearest(place.name, (path.name for path in place.parent.glob("*"))) if place.name else ""
        hint = f" Did you mean {place.parent / near}?" if near else ""
        raise UserError(f"{key}: {place} does not exist. Allowed: {allowed}.{hint}")
    found = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    files = [path for path in found if plain_suffix(path) in suffixes]
    if not files:
        raise UserError(f"{key}: {place} holds no such file. Allowed: {allowed}.")
    return files

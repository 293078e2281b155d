"""Finds every fault of a checkpoint: files missing, changed or unknown, damaged headers, an index that doesn't fit."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mf_ckpt.disk.files import CheckpointError, member
from mf_ckpt.formats.gguf_file.source import is_gguf, open_gguf
from mf_ckpt.formats.mindspore_ckpt.ckpt_file import is_ckpt, open_ckpt
from mf_ckpt.formats.mindspore_ckpt.ckpt_folder import check_inside, ckpt_files
from mf_ckpt.formats.mindspore_ckpt.rank_names import rank_folders
from mf_ckpt.formats.safetensors_file.header import read_header
from mf_ckpt.formats.safetensors_file.tensors import index_name, read_index
from mf_ckpt.reading.reader import open_checkpoint
from mf_ckpt.store.fingerprints import ALGORITHM, read_fingerprints
from mf_ckpt.store.manifest import MANIFEST, Manifest, read_manifest


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: the path of the file (or of the checkpoint), and what is wrong with it."""

    path: Path
    what: str

    def __str__(self) -> str:
        """`path: what is wrong`."""
        return f"{self.path}: {self.what}"


def verify(path: str | Path, strategy: str | Path | None = None) -> list[Finding]:
    """Check a checkpoint from end to end.

    Args:
        path: what `mf_ckpt.open` takes. Without a manifest (a Hugging Face folder, a single file, the folders of
            MindSpore's ranks) headers and index are checked, and the checksum that a `.ckpt` file may end with.
        strategy: as for `mf_ckpt.open`.

    Returns:
        Every fault found, none for a sound checkpoint.

    Raises:
        CheckpointError: there is nothing at `path`.
    """
    path = Path(path)
    if not path.exists():
        raise CheckpointError(path, "no such file or folder")
    findings = list(_content_faults(path)) if (path / MANIFEST).exists() else []
    findings += _file_faults(path)
    # What an index says of damaged or missing files would only repeat the faults found so far.
    return findings or list(_index_faults(path, strategy))


def _content_faults(folder: Path) -> Iterator[Finding]:
    try:
        manifest = read_manifest(folder)
    except CheckpointError as error:
        yield Finding(error.path, error.what)
        return
    for entry in sorted(folder.iterdir()):
        if entry.name not in manifest.files and entry.name != MANIFEST:
            yield Finding(entry, f"is not listed in {MANIFEST}")
    readable = []
    for name in manifest.files:
        try:
            file = member(folder, name)
        except CheckpointError as error:
            yield Finding(error.path, error.what)
            continue
        if file.is_file():
            readable.append(name)
        else:
            yield Finding(file, "is missing")
    yield from _changed_files(folder, manifest, readable)


def _changed_files(folder: Path, manifest: Manifest, names: list[str]) -> Iterator[Finding]:
    starts = [(name, manifest.files[name].start) for name in names]
    for name, found in read_fingerprints(folder, starts).items():
        listed = manifest.files[name]
        if found.size != listed.size:
            yield Finding(folder / name, f"has {found.size} bytes, not the {listed.size} of {MANIFEST}")
        elif found != listed:
            yield Finding(
                folder / name, f"has other content than when it was saved ({ALGORITHM} differs from {MANIFEST})"
            )


def _file_faults(path: Path) -> Iterator[Finding]:
    for file in _tensor_files(path):
        try:
            if path.is_dir():
                check_inside(path, [file])
            _check_file(file)
        except CheckpointError as error:
            yield Finding(error.path, error.what)


def _tensor_files(path: Path) -> list[Path]:
    """The files of tensors that `mf_ckpt.open` would read at a path, and other steps of the same ranks."""
    if path.is_file():
        return [path]
    ranks = [file for folder in rank_folders(path).values() for file in ckpt_files(folder)]
    return sorted(path.glob("*.safetensors")) or ranks or ckpt_files(path)


def _check_file(file: Path) -> None:
    if is_ckpt(file):
        open_ckpt(file).check_crc()
    elif is_gguf(file):
        open_gguf(file)
    else:
        read_header(member(file.parent, file.name) if file.is_symlink() else file)


def _index_faults(path: Path, strategy: str | Path | None) -> Iterator[Finding]:
    try:
        open_checkpoint(path, strategy)
    except CheckpointError as error:
        yield Finding(error.path, error.what)
        return
    for stem in ("model", "optimizer"):
        if path.is_dir() and (path / index_name(stem)).is_file():
            yield from _unlisted_tensors(path, stem)


def _unlisted_tensors(folder: Path, stem: str) -> Iterator[Finding]:
    placed = read_index(folder / index_name(stem))
    for file_name in sorted(set(placed.values())):
        for name in read_header(folder / file_name).tensors:
            if placed.get(name) != file_name:
                yield Finding(
                    folder / file_name, f"holds tensor {name!r}, which {index_name(stem)} doesn't place there"
                )

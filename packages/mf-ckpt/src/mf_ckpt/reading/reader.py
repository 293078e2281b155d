"""Opens checkpoints for reading, whatever their form: mf, Hugging Face, MindSpore, GGUF; whole or cut."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from mf_ckpt.disk.files import CheckpointError, JsonObject, member, read_json
from mf_ckpt.formats.gguf_file.source import is_gguf, open_gguf
from mf_ckpt.formats.mindspore_ckpt.ckpt_file import is_ckpt, open_ckpt
from mf_ckpt.formats.mindspore_ckpt.ckpt_folder import is_ckpt_folder, open_ckpt_folder
from mf_ckpt.formats.mindspore_ckpt.rank_folders import is_rank_folder, open_rank_folders
from mf_ckpt.formats.mindspore_ckpt.rank_names import rank_folders
from mf_ckpt.formats.safetensors_file.tensors import Tensors, index_name, open_file, open_series
from mf_ckpt.lora.peft import base_path, is_adapter
from mf_ckpt.placement.layout import LAYOUT, Layout, read_layout
from mf_ckpt.sources.combined import CombinedSource
from mf_ckpt.sources.sliced import SlicedSource
from mf_ckpt.sources.source import Source
from mf_ckpt.store.documents import CONFIG, TRAINER_STATE
from mf_ckpt.store.manifest import MANIFEST, is_complete, read_manifest
from mf_ckpt.store.partial_job import is_partial_job
from mf_ckpt.store.run_folder import checkpoints
from mf_ckpt.store.staging import is_hidden
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

_SINGLE_FILE = "model.safetensors"
_OURS_ALONE = (index_name("optimizer"), LAYOUT)
"""Files that only mf writes: a folder that has one of them but no manifest is the rest of an interrupted save."""

_FILE_METADATA = {"format": "pt"}
"""What readers of other programs expect in a file's header."""


class Reader(CombinedSource):
    """An open checkpoint: a lazy mapping from the names of its weights to arrays, and the documents beside them.

    Attributes:
        path: the folder or file, as it was given.
        weights: the weights alone; reading the checkpoint itself reads them.
        optimizer: the optimizer's state, the same kind of mapping; empty where the checkpoint has none.
        step: optimizer updates done when it was saved; None where that is not known.
        form: whose names the tensors have, `hf`, `mindspore` or `gguf`; an mf checkpoint has those of Hugging Face.
        base: where the weights lie; another place than `path` where that holds an adapter, which is not applied here.
        documents: JSON files that belong to the checkpoint but don't lie at `path`, by name.
    """

    def __init__(
        self,
        path: Path,
        weights: Source,
        optimizer: Source | None = None,
        *,
        step: int | None = None,
        form: str = "hf",
        base: Path | None = None,
        documents: Mapping[str, JsonObject] | None = None,
    ):
        """Takes the parts; `mf_ckpt.open` finds them.

        Args:
            path: the folder or file.
            weights: the weights.
            optimizer: the optimizer's state; None for none.
            step: optimizer updates done; None where that is not known.
            form: whose names the tensors have.
            base: where the weights lie; `path` where None.
            documents: further JSON files by name, such as a `config.json`; what lies at `path` goes before them.
        """
        super().__init__(dict.fromkeys(weights, weights), str(path))
        self.path = path
        self.weights = weights
        self.optimizer: Source = Tensors({}, str(path)) if optimizer is None else optimizer
        self.step = step
        self.form = form
        self.base = base or path
        self.documents: Mapping[str, JsonObject] = documents or {}

    @cached_property
    def config(self) -> JsonObject | None:
        """The model's `config.json` in Hugging Face form, None where there is none."""
        return self.document(CONFIG)

    @cached_property
    def layout(self) -> Layout | None:
        """How the tensors were placed when they were saved, from `layout.json`; None where there is none."""
        return read_layout(self.path) if self.path.is_dir() else None

    @property
    def is_sliced(self) -> bool:
        """Whether the files hold the pieces of ranks; whole tensors come out all the same."""
        return isinstance(self.weights, SlicedSource)

    @cached_property
    def trainer_state(self) -> JsonObject | None:
        """The `trainer_state.json`, None where there is none."""
        return self.document(TRAINER_STATE)

    @property
    def metadata(self) -> Mapping[str, str]:
        """The free text of the first weights file's header; what is usual for other forms than safetensors."""
        if isinstance(self.weights, Tensors) and self.weights:
            return next(iter(self.weights.files.values())).header.metadata
        return _FILE_METADATA

    def document(self, name: str) -> JsonObject | None:
        """A JSON file of the checkpoint.

        Args:
            name: a plain file name.

        Returns:
            Its content; None where there is no such file: a single file has only those of `documents` beside it.

        Raises:
            CheckpointError: the file is damaged.
        """
        path = member(self.path, name) if self.path.is_dir() else None
        return read_json(path) if path is not None and path.exists() else self.documents.get(name)


def open_checkpoint(path: str | Path, strategy: str | Path | None = None) -> Reader:
    """Open a checkpoint; every header is checked, no tensor is read.

    Args:
        path: a folder with a manifest (an mf checkpoint, whole or cut over ranks, or an adapter that was trained, which
            says where its base lies: the weights are those of the base); a folder with `model.safetensors` or
            `model.safetensors.index.json` (Hugging Face form; the single file goes first); a folder of MindSpore's
            `rank_N` folders, with the strategy files in `strategy` beside it; a folder of `.ckpt` files, all of which
            belong to one model; or a `.safetensors`, `.ckpt` or `.gguf` file.
        strategy: for MindSpore's `rank_N` folders, where the strategy files lie elsewhere: a file or a folder of them.

    Returns:
        The open checkpoint. Its files must not change while it is in use.

    Raises:
        CheckpointError: there is no checkpoint, or it is incomplete or damaged.
    """
    path = Path(path)
    if strategy is not None:
        return Reader(path, open_rank_folders(path, strategy), form="mindspore")
    if path.is_file():
        return _open_single(path)
    if not path.is_dir():
        raise CheckpointError(path, f"no such file or folder.{_nearest_sibling(path)}")
    if member(path, MANIFEST).exists():
        return _open_ours(path)
    if is_hidden(path) or is_partial_job(path) or any((path / name).exists() for name in _OURS_ALONE):
        raise CheckpointError(path, f"has no {MANIFEST}, so its save was interrupted. Allowed: a complete checkpoint.")
    if (path / _SINGLE_FILE).is_file():
        return Reader(path, open_file(member(path, _SINGLE_FILE)))
    if (path / index_name("model")).is_file():
        return Reader(path, open_series(path, "model"))
    if is_rank_folder(path):
        return Reader(path, open_rank_folders(path), form="mindspore")
    if is_ckpt_folder(path):
        _check_whole(path)
        return Reader(path, open_ckpt_folder(path), form="mindspore")
    inside = [found.name for found in checkpoints(path)]
    hint = f" It holds checkpoints: {name_values(reversed(inside))}." if inside else ""
    if is_adapter(path):
        hint = f" It holds a LoRA adapter without its base: mf-ckpt merge-lora BASE {path} DST."
    raise CheckpointError(
        path, f"is no checkpoint: it has no {MANIFEST}, {_SINGLE_FILE} or {index_name('model')}.{hint}"
    )


def rank_stem(kind: str, rank: int) -> str:
    """What the files of one rank's pieces are called.

    Args:
        kind: `model` or `optimizer`.
        rank: the rank.
    """
    return f"{kind}-rank-{rank:04d}"


def _open_single(path: Path) -> Reader:
    if is_ckpt(path):
        return Reader(path, open_ckpt(path), form="mindspore")
    if is_gguf(path):
        return Reader(path, open_gguf(path), form="gguf")
    tensors = open_file(path)
    by_mindspore = any(file.header.metadata.get("format") == "ms" for file in tensors.files.values())
    return Reader(path, tensors, form="mindspore" if by_mindspore else "hf")


def _check_whole(folder: Path) -> None:
    """Make sure that a folder of `.ckpt` files isn't that of one rank among several: its tensors may be pieces."""
    ranks = rank_folders(folder.resolve().parent)
    if len(ranks) > 1 and folder.resolve() in ranks.values():
        raise CheckpointError(
            folder,
            f"is the folder of one of {len(ranks)} ranks. Allowed: {folder.parent}, or a file in it as it is.",
        )


def _open_ours(path: Path) -> Reader:
    manifest = read_manifest(path)
    if not is_complete(path):
        raise CheckpointError(
            path, f"files are missing or of another size than {MANIFEST} says; mf-ckpt verify lists them"
        )
    optimizer = _open_kind(path, "optimizer", manifest.files)
    if is_adapter(path) and not any(name.startswith("model") for name in manifest.files):
        place = base_path(path)
        if is_adapter(place) and (place / MANIFEST).exists():
            raise CheckpointError(path, f"its base {place} is an adapter itself. Allowed: a base with weights.")
        base = open_checkpoint(place)
        return Reader(path, base.weights, optimizer, step=manifest.step, form=base.form, base=base.base)
    return Reader(path, _open_kind(path, "model", manifest.files), optimizer, step=manifest.step)


def _open_kind(path: Path, kind: str, files: Iterable[str]) -> Source:
    """Weights or optimizer state, whole or from pieces, whichever the checkpoint has."""
    pattern = re.compile(rf"{kind}-rank-(\d+)\.safetensors\.index\.json")
    ranks = [int(match[1]) for match in map(pattern.fullmatch, files) if match]
    if not ranks:
        empty = kind == "optimizer" and index_name(kind) not in files
        return Tensors({}, str(path)) if empty else open_series(path, kind)
    layout = read_layout(path)
    if layout is None:
        raise CheckpointError(path, f"holds the pieces of ranks, but no {LAYOUT} that says how they fit together")
    layouts = layout.tensors if kind == "model" else layout.optimizer
    pieces = {rank: open_series(path, rank_stem(kind, rank)) for rank in ranks}
    try:
        return SlicedSource(pieces, layout.mesh, layouts)
    except UserError as error:
        raise CheckpointError(path, str(error)) from None


def _nearest_sibling(path: Path) -> str:
    siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    guess = nearest(path.name, siblings)
    return f" Did you mean {path.with_name(guess)}?" if guess else ""

"""Opens checkpoints for reading: an mf checkpoint, a Hugging Face folder, or one safetensors file."""

from functools import cached_property
from pathlib import Path

from mf_ckpt.files import CheckpointError, JsonObject, member, read_json
from mf_ckpt.manifest import MANIFEST, is_complete, read_manifest
from mf_ckpt.retention import checkpoints
from mf_ckpt.staging import is_hidden
from mf_ckpt.tensors import Tensors, index_name, open_file, open_series
from mf_config.problems import name_values
from mf_config.suggest import nearest

_SINGLE_FILE = "model.safetensors"
_OURS_ALONE = (index_name("optimizer"), "layout.json")
"""Files that only mf writes: a folder that has one of them but no manifest is the rest of an interrupted save."""


class Reader(Tensors):
    """An open checkpoint: a lazy mapping from the names of its weights to arrays, and the documents beside them.

    Attributes:
        path: the folder or file, as it was given.
        step: optimizer updates done when it was saved; None where that is not known.
    """

    def __init__(self, path: Path, weights: Tensors, optimizer: Tensors, step: int | None):
        """Takes the parts; `mf_ckpt.open` finds them."""
        super().__init__(weights.files, str(path))
        self.path = path
        self.step = step
        self.optimizer = optimizer
        """The optimizer's state, the same kind of mapping; empty where the checkpoint has none."""

    @cached_property
    def config(self) -> JsonObject | None:
        """The model's `config.json` in Hugging Face form, None where there is none."""
        return self.document("config.json")

    @cached_property
    def layout(self) -> JsonObject | None:
        """The `layout.json` that says how the tensors were placed, None where there is none."""
        return self.document("layout.json")

    @cached_property
    def trainer_state(self) -> JsonObject | None:
        """The `trainer_state.json`, None where there is none."""
        return self.document("trainer_state.json")

    def document(self, name: str) -> JsonObject | None:
        """A JSON file of the checkpoint.

        Args:
            name: a plain file name.

        Returns:
            Its content; None where there is no such file, or the checkpoint is a single file.

        Raises:
            CheckpointError: the file is damaged.
        """
        if not self.path.is_dir():
            return None
        path = member(self.path, name)
        return read_json(path) if path.exists() else None


def open_checkpoint(path: str | Path) -> Reader:
    """Open a checkpoint; every header is checked, no tensor is read.

    Args:
        path: a folder with a manifest (an mf checkpoint), a folder with `model.safetensors` or
            `model.safetensors.index.json` (Hugging Face form; the single file goes first), or a safetensors file.

    Returns:
        The open checkpoint. Its files must not change while it is in use.

    Raises:
        CheckpointError: there is no checkpoint, or it is incomplete or damaged.
    """
    path = Path(path)
    none = Tensors({}, str(path))
    if path.is_file():
        return Reader(path, open_file(path), none, None)
    if not path.is_dir():
        raise CheckpointError(path, f"no such file or folder.{_nearest_sibling(path)}")
    if member(path, MANIFEST).exists():
        return _open_ours(path)
    if is_hidden(path) or any((path / name).exists() for name in _OURS_ALONE):
        raise CheckpointError(path, f"has no {MANIFEST}, so its save was interrupted. Allowed: a complete checkpoint.")
    if (path / _SINGLE_FILE).is_file():
        return Reader(path, open_file(member(path, _SINGLE_FILE)), none, None)
    if (path / index_name("model")).is_file():
        return Reader(path, open_series(path, "model"), none, None)
    inside = [found.name for found in checkpoints(path)]
    hint = f" It holds checkpoints: {name_values(reversed(inside))}." if inside else ""
    raise CheckpointError(
        path, f"is no checkpoint: it has no {MANIFEST}, {_SINGLE_FILE} or {index_name('model')}.{hint}"
    )


def _open_ours(path: Path) -> Reader:
    manifest = read_manifest(path)
    if not is_complete(path):
        raise CheckpointError(
            path, f"files are missing or of another size than {MANIFEST} says; mf-ckpt verify lists them"
        )
    has_optimizer = index_name("optimizer") in manifest.files
    optimizer = open_series(path, "optimizer") if has_optimizer else Tensors({}, str(path))
    return Reader(path, open_series(path, "model"), optimizer, manifest.step)


def _nearest_sibling(path: Path) -> str:
    siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    guess = nearest(path.name, siblings)
    return f" Did you mean {path.with_name(guess)}?" if guess else ""

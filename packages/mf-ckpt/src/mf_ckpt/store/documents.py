"""The files beside the tensors of a checkpoint, such as config.json and the tokenizer's."""

from pathlib import Path

from mf_ckpt.disk.files import is_simple_name, member
from mf_ckpt.placement.layout import LAYOUT
from mf_ckpt.store.manifest import MANIFEST

CONFIG = "config.json"
"""What the model is, in Hugging Face form."""

TRAINER_STATE = "trainer_state.json"
"""Where training stood: of no use for a model that is only to be used."""

_WEIGHTS_OF_ANY_FORM = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".h5", ".msgpack", ".onnx")
_MADE_HERE = (MANIFEST, LAYOUT)
_ADAPTER_CONFIG = "adapter_config.json"
"""A folder that has this counts as one with an adapter, whose tensors are no part of what is made from the base."""


def documents_of(path: Path) -> dict[str, Path]:
    """The files beside the tensors of a checkpoint folder, such as config.json and the tokenizer's, by name.

    Raises:
        CheckpointError: one is a link that leaves the folder.
    """
    files = sorted(file.name for file in path.iterdir() if file.is_file()) if path.is_dir() else []
    return {name: member(path, name) for name in files if is_simple_name(name) and not _is_remade(name)}


def describe_origin(path: Path) -> str:
    """The files of a checkpoint with their sizes and times, by which another state of the same path is told apart."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return " ".join(f"{file.resolve()}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files)


def _is_remade(name: str) -> bool:
    return name in (*_MADE_HERE, _ADAPTER_CONFIG) or name.endswith((*_WEIGHTS_OF_ANY_FORM, ".index.json"))

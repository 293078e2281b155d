"""Saving and loading with MindSpore: one .ckpt file (protobuf), no checksum, renamed but not synced."""

from pathlib import Path

import mindspore
import numpy as np

VERSIONS = {"mindspore": mindspore.__version__}


def prepare(arrays: dict[str, np.ndarray]) -> list[dict[str, object]]:
    """The arrays as the library takes them."""
    return [{"name": name, "data": mindspore.Tensor(array)} for name, array in arrays.items()]


def save(tensors: list[dict[str, object]], folder: Path) -> None:
    """Save into a new file."""
    mindspore.save_checkpoint(tensors, str(folder / "model.ckpt"))


def load(folder: Path) -> dict[str, mindspore.Parameter]:
    """Parameters that hold all tensors in memory."""
    return mindspore.load_checkpoint(str(folder / "model.ckpt"))


def to_numpy(tensors: dict[str, mindspore.Parameter]) -> dict[str, np.ndarray]:
    """What was loaded, as arrays."""
    return {name: parameter.asnumpy() for name, parameter in tensors.items()}

"""Saving and loading with mf-ckpt: sharded safetensors with checksums, an atomic and durable folder."""

from importlib.metadata import version
from pathlib import Path

import numpy as np

import mf_ckpt

VERSIONS = {"mf-ckpt": version("mf-ckpt"), "xxhash": version("xxhash")}


def prepare(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays as the library takes them."""
    return arrays


def save(tensors: dict[str, np.ndarray], folder: Path) -> None:
    """Save into a new folder."""
    with mf_ckpt.Writer(folder / "checkpoint") as writer:
        for name, array in tensors.items():
            writer.add(name, array)


def load(folder: Path) -> dict[str, np.ndarray]:
    """Copies of all tensors in memory."""
    return mf_ckpt.load(mf_ckpt.open(folder / "checkpoint"))


def to_numpy(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What was loaded, as arrays."""
    return tensors

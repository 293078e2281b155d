"""Saving and loading with the numpy functions of safetensors: one file, no checksum, renamed but not synced."""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import safetensors.numpy

VERSIONS = {"safetensors": version("safetensors")}


def prepare(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays as the library takes them."""
    return arrays


def save(tensors: dict[str, np.ndarray], folder: Path) -> None:
    """Save into a new file."""
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")


def load(folder: Path) -> dict[str, np.ndarray]:
    """Copies of all tensors in memory."""
    return safetensors.numpy.load_file(folder / "model.safetensors")


def to_numpy(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What was loaded, as arrays."""
    return tensors

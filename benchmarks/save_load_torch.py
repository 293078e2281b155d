"""Saving and loading with PyTorch: one zip file with CRC-32, neither renamed nor synced."""

from pathlib import Path

import numpy as np
import torch

VERSIONS = {"torch": torch.__version__}


def prepare(arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """The arrays as the library takes them."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def save(tensors: dict[str, torch.Tensor], folder: Path) -> None:
    """Save into a new file."""
    torch.save(tensors, folder / "model.pt")


def load(folder: Path) -> dict[str, torch.Tensor]:
    """Tensors in memory."""
    return torch.load(folder / "model.pt", weights_only=True)


def to_numpy(tensors: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """What was loaded, as arrays."""
    return {name: tensor.numpy() for name, tensor in tensors.items()}

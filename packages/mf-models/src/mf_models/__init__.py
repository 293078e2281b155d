"""Large language models on MindSpore, equal to Hugging Face number for number, for training and cached generation."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mf_models.networks import build as build
    from mf_models.pretrained import load as load
    from mf_models.registry import family_of as family_of

__all__ = ["build", "family_of", "load"]

_HOMES = {"build": "mf_models.networks", "family_of": "mf_models.registry", "load": "mf_models.pretrained"}


def __getattr__(name: str) -> object:
    # On demand, because reading a configuration imports this package and must not wait for MindSpore.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    return found

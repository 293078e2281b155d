"""Large language models on MindSpore, equal to Hugging Face number for number, for training and cached generation."""

from typing import TYPE_CHECKING

from mf_config.on_demand import names_on_demand

if TYPE_CHECKING:
    from mf_models.networks import build as build
    from mf_models.pretrained import load as load
    from mf_models.registry import family_of as family_of
    from mf_models.saving import save as save

__all__ = ["build", "family_of", "load", "save"]

_HOMES = {
    "build": "mf_models.networks",
    "family_of": "mf_models.registry",
    "load": "mf_models.pretrained",
    "save": "mf_models.saving",
}

# Reading a configuration imports this package and must not wait for MindSpore.
__getattr__ = names_on_demand(__name__, _HOMES)

"""What a model family tells about its checkpoints, found through the entry point group `mf.checkpoint_families`.

This package knows no family. An entry point names a function that takes the content of a model's config.json and
returns a `CheckpointFamily`, or None for a model that it doesn't know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points

from mf_ckpt.disk.files import JsonObject
from mf_ckpt.keymap.keymap import KeyMap
from mf_ckpt.placement.placement_rules import PlacementRule

GROUP = "mf.checkpoint_families"


@dataclass(frozen=True, slots=True)
class CheckpointFamily:
    """What is known of one model's tensors.

    Attributes:
        rules: how they are placed on a mesh, under Hugging Face names.
        forms: a form that has names of its own (`mindspore`, `gguf`) to the map from Hugging Face names to those.
        ties: Hugging Face tensors that may be left out, each with the one that it equals.
    """

    rules: tuple[PlacementRule, ...] = ()
    forms: Mapping[str, KeyMap] = field(default_factory=dict)
    ties: Mapping[str, str] = field(default_factory=dict)


def family_of(config: JsonObject) -> CheckpointFamily | None:
    """The family of a model.

    Args:
        config: content of its config.json.

    Returns:
        What the first entry point that knows the model says; None where none does.
    """
    found = (point.load()(config) for point in sorted(entry_points(group=GROUP), key=lambda point: point.value))
    return next((family for family in found if family is not None), None)

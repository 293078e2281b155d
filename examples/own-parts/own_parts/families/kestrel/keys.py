"""Names of Kestrel's tensors: cell parameter on the left, checkpoint on the right, as in Llama."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.family_tables import names
from own_parts.families.kestrel.config import KestrelConfig

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: KestrelConfig) -> KeyMap:
    """The names of one model."""
    rows = (*names.norm_rows(names.BLOCK_NORMS), *names.projection_rows(), *names.gated_rows())
    return names.key_map(config, rows)


def forms(config: KestrelConfig) -> Mapping[str, KeyMap]:
    """Checkpoint names to those of other programs: the cells have MindFormers' names."""
    return {"mindspore": key_map(config).inverse}

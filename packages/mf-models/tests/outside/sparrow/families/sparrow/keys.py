"""Names of Sparrow's tensors, which are Llama's."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.family_tables import names
from sparrow.families.sparrow.config import SparrowConfig

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: SparrowConfig) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    rows = (*names.norm_rows(names.BLOCK_NORMS), *names.projection_rows(), *names.gated_rows())
    return names.key_map(config, rows)


def forms(config: SparrowConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of other programs."""
    return {"mindspore": key_map(config).inverse}

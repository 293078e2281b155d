"""Names of DeepSeek-V2's tensors: cell parameter on the left, Hugging Face checkpoint on the right."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.deepseek2.config import DeepseekV2Config
from mf_models.family_tables import latent, names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: DeepseekV2Config) -> KeyMap:
    """The names of one model."""
    return names.key_map(config, latent.block_rows(config))


def forms(config: DeepseekV2Config) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are MindFormers' too."""
    return {"mindspore": key_map(config).inverse}

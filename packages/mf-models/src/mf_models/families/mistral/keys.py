"""Names of Mistral's tensors, which are Llama's."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.mistral.config import MistralConfig
from mf_models.family_tables import gguf, names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: MistralConfig) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    rows = (*names.norm_rows(names.BLOCK_NORMS), *names.projection_rows(), *names.gated_rows())
    return names.key_map(config, rows)


def forms(config: MistralConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of other programs; llama.cpp stores Mistral as its architecture llama."""
    return {"mindspore": key_map(config).inverse, "gguf": gguf.gguf_names(config, interleaved=True)}

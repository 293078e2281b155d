"""Names of Qwen3's tensors: Llama's, and those of two norms."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.qwen3.config import Qwen3Config
from mf_models.family_tables import gguf, names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: Qwen3Config) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    norms = names.norm_rows(names.BLOCK_NORMS | names.HEAD_NORMS)
    return names.key_map(config, (*norms, *names.projection_rows(), *names.gated_rows()))


def forms(config: Qwen3Config) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of other programs."""
    others = gguf.gguf_names(config, interleaved=False, query_key_norm=True)
    return {"mindspore": key_map(config).inverse, "gguf": others}

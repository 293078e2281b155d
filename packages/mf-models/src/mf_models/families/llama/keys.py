"""Names of Llama's tensors: cell parameter on the left, Hugging Face checkpoint on the right."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.llama.config import LlamaConfig
from mf_models.family_tables import gguf, names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: LlamaConfig) -> KeyMap:
    """The names of one model."""
    biased = ("wq", "wk", "wv") if config.qkv_has_bias else ()
    rows = (*names.norm_rows(names.BLOCK_NORMS), *names.projection_rows(biased), *names.gated_rows())
    return names.key_map(config, rows)


def forms(config: LlamaConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of other programs: the cells have MindFormers' names, GGUF files llama.cpp's."""
    # A model with biases is of llama.cpp's architecture qwen2, whose heads are stored as Hugging Face stores them.
    interleaved = not config.qkv_has_bias
    return {"mindspore": key_map(config).inverse, "gguf": gguf.gguf_names(config, interleaved=interleaved)}

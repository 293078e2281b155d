"""Names of the tensors of InternLM's first generation, which are Llama's."""

from collections.abc import Mapping

from mf_ckpt import KeyMap
from mf_models.families.internlm.config import InternLMConfig
from mf_models.family_tables import names

TIED, IGNORED = names.TIED, names.IGNORED


def key_map(config: InternLMConfig) -> KeyMap:
    """Cell parameters to Hugging Face names, of one model."""
    biased = tuple(names.ATTENTION) if config.has_bias else ()
    rows = (*names.norm_rows(names.BLOCK_NORMS), *names.projection_rows(biased), *names.gated_rows())
    return names.key_map(config, rows)


def forms(config: InternLMConfig) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are MindFormers'; llama.cpp has not this architecture."""
    return {"mindspore": key_map(config).inverse}

"""Names of DeepSeek-V3's tensors: cell parameter on the left, Hugging Face checkpoint on the right.

A block that predicts further tokens has the number after the decoder's last, and files hold the embedding and the head
with it once more.
"""

from collections.abc import Mapping

from mf_ckpt import KeyMap, Rename, Tie
from mf_ckpt.keymap.rows import Row
from mf_models.families.deepseek_v3.config import DeepseekV3Config
from mf_models.family_tables import experts, latent, names

TIED, IGNORED = names.TIED, names.IGNORED

_CORRECTION = Rename(
    f"{experts.ROUTED}.router.bias",
    f"{names.LAYER}.mlp.gate.e_score_correction_bias",
)
_FURTHER = {"enorm": "enorm", "hnorm": "hnorm", "eh_proj": "eh_proj", "shared_head_norm": "shared_head.norm"}
_COPIES = {"model.embed_tokens.weight": "embed_tokens.weight", "lm_head.weight": "shared_head.head.weight"}
"""Tensors of the whole model to what else they are called in a block that predicts further tokens."""


def key_map(config: DeepseekV3Config) -> KeyMap:
    """The names of one model."""
    further = names.norm_rows(_FURTHER) if config.mtp_depth else ()
    rows = names.key_map(config, (*latent.block_rows(config), _CORRECTION, *further)).rows
    return KeyMap(_with_copies(row, config) for row in rows) if config.mtp_depth else KeyMap(rows)


def forms(config: DeepseekV3Config) -> Mapping[str, KeyMap]:
    """Hugging Face names to those of the cells, which are MindFormers' of DeepSeek-V2."""
    return {"mindspore": key_map(config).inverse}


def _with_copies(row: Row, config: DeepseekV3Config) -> Row:
    """The row, and the copies of its tensor that files hold."""
    if not isinstance(row, Rename) or row.target not in _COPIES:
        return row
    copies = (f"model.layers.{number}.{_COPIES[row.target]}" for number in config.prediction_layers)
    return Tie(row.source, (row.target, *copies))

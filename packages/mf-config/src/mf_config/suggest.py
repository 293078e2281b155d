"""The nearest valid name for a mistyped one."""

from collections.abc import Iterable
from difflib import get_close_matches

_CUTOFF = 0.8
"""Below this similarity (difflib's ratio, 0 to 1) words that only share an ending pass for each other."""

_SYNONYMS = {
    "lr": "learning_rate",
    "dp": "data_parallel",
    "mp": "model_parallel",
    "tp": "model_parallel",
    "pp": "pipeline_stage",
    "cp": "context_parallel",
    "ep": "expert_parallel",
    "seq_len": "seq_length",
    "max_seq_len": "seq_length",
    "sequence_length": "seq_length",
    "num_hidden_layers": "num_layers",
    "num_attention_heads": "num_heads",
    "num_key_value_heads": "n_kv_heads",
    "num_kv_heads": "n_kv_heads",
    "rope_theta": "theta",
    "n_layers": "num_layers",
    "n_heads": "num_heads",
    "warmup": "warmup_steps",
    "num_epochs": "epochs",
    "training": "train",
    "evaluate": "eval",
    "inference": "predict",
    "pretrain": "train",
}
"""Words of other tools that no edit distance finds."""


def nearest(name: str, choices: Iterable[str]) -> str:
    """The choice that was probably meant.

    Args:
        name: what was written.
        choices: the valid names.
    Returns:
        One of `choices`, or an empty string where none is near enough to be sure.
    """
    known = list(choices)
    if _SYNONYMS.get(name.lower()) in known:
        return _SYNONYMS[name.lower()]
    word = _fold(name)
    folded = {_fold(choice): choice for choice in reversed(known)}
    # Two letters that changed places make a short word less similar than the cutoff asks.
    swapped = [choice for choice in folded if sorted(choice) == sorted(word)]
    matches = swapped or get_close_matches(word, folded, n=1, cutoff=_CUTOFF)
    return folded[matches[0]] if matches else ""


def _fold(name: str) -> str:
    return name.lower().replace("-", "_")

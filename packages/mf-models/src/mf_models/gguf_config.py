"""From the metadata of a GGUF file to the config.json that Hugging Face tools would have beside the same weights.

Source: the standard keys in the description of GGUF, in the repository of ggml.
"""

from collections.abc import Collection, Mapping
from typing import Any

from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest

_ARCHITECTURES = ("llama", "qwen", "qwen2", "qwen3")
"""Those that llama.cpp calls as Hugging Face does, and whose tensor names a family knows."""

_SIZES = {
    "max_position_embeddings": "context_length",
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "intermediate_size": "feed_forward_length",
    "num_attention_heads": "attention.head_count",
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
}
"""Keys that every file has."""
_OPTIONAL = {
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "rope_theta": "rope.freq_base",
}
_TOKENS = {"bos_token_id": "bos_token_id", "eos_token_id": "eos_token_id", "pad_token_id": "padding_token_id"}
_FREQUENCIES = "rope_freqs.weight"
_QWEN_NAMES = {"rms_norm_eps": "layer_norm_epsilon", "rope_theta": "rotary_emb_base"}
"""Names that the config.json of Qwen's first generation has in place of Hugging Face's usual ones."""


def hf_from_gguf(metadata: Mapping[str, Any], tensors: Mapping[str, tuple[int, ...]], where: str) -> dict[str, Any]:
    """Translate the hyperparameters; what would change numbers and is not known here is refused.

    Args:
        metadata: the entries of the file's header.
        tensors: name to shape of its tensors.
        where: the file's name in messages.

    Returns:
        The content of a config.json.

    Raises:
        UserError: another architecture, a size that is missing, experts, or scaled rotary positions.
    """
    architecture = str(metadata.get("general.architecture", ""))
    if architecture not in _ARCHITECTURES:
        near = nearest(architecture, _ARCHITECTURES)
        hint = f" Did you mean {near}?" if near else ""
        allowed = name_values(_ARCHITECTURES)
        raise UserError(f"{where}: general.architecture: {architecture!r} is not read. Allowed: {allowed}.{hint}")
    own = {key.removeprefix(f"{architecture}."): value for key, value in metadata.items()}
    missing = [f"{architecture}.{key}" for key in _SIZES.values() if key not in own]
    if missing or "token_embd.weight" not in tensors:
        lacks = ", ".join(missing or ["token_embd.weight"])
        raise UserError(f"{where}: has no {lacks}. Allowed: a whole language model.")
    _check_plain(own, tensors, where)
    found = {
        "model_type": architecture,
        **{name: own[key] for name, key in _SIZES.items()},
        **{name: own[key] for name, key in _OPTIONAL.items() if key in own},
        **{name: metadata.get(f"tokenizer.ggml.{key}") for name, key in _TOKENS.items()},
        "tie_word_embeddings": "output.weight" not in tensors,
        "vocab_size": tensors["token_embd.weight"][0],
    }
    return _first_qwen(found) if architecture == "qwen" else found


def _first_qwen(found: Mapping[str, Any]) -> dict[str, Any]:
    """The same under the names of Qwen's first generation; llama.cpp scales nothing in longer texts."""
    head_dim = found["hidden_size"] // found["num_attention_heads"]
    known = {name: value for name, value in found.items() if name not in ("num_key_value_heads", "head_dim")}
    return {_QWEN_NAMES.get(name, name): value for name, value in known.items()} | {
        "kv_channels": head_dim,
        "seq_length": found["max_position_embeddings"],
        "use_dynamic_ntk": False,
        "use_logn_attn": False,
    }


def _check_plain(own: Mapping[str, Any], tensors: Collection[str], where: str) -> None:
    """Refuse experts, and rotary positions that are scaled or of a part of a head."""
    if own.get("expert_count", 0):
        raise UserError(f"{where}: expert_count: {own['expert_count']} experts are not read. Allowed: 0.")
    scaling = own.get("rope.scaling.type", "none")
    if scaling != "none" or _FREQUENCIES in tensors:
        what = f"tensor {_FREQUENCIES}" if scaling == "none" else f"rope.scaling.type: {scaling!r}"
        raise UserError(f"{where}: {what}: scaled positions of a GGUF file are not read. Allowed: none.")
    head_dim = own.get("attention.key_length", own["embedding_length"] // own["attention.head_count"])
    if own.get("rope.dimension_count", head_dim) != head_dim:
        what = f"{own['rope.dimension_count']} of {head_dim} elements of a head are rotated"
        raise UserError(f"{where}: rope.dimension_count: {what}. Allowed: {head_dim}.")

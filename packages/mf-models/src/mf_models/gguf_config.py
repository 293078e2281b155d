"""From the metadata of a GGUF file to the config.json that Hugging Face tools would have beside the same weights.

Source: the standard keys in the description of GGUF, in the repository of ggml.
"""

from collections.abc import Collection, Mapping
from typing import Any

from mf_ckpt.formats.gguf_file import GgufTensors
from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest
from mf_models.model_config import ModelConfig
from mf_models.registry import config_from_hf

_ARCHITECTURES = {"llama": "llama", "qwen": "qwen", "qwen2": "qwen2", "qwen3": "qwen3", "qwen3moe": "qwen3_moe"}
"""Those whose tensor names a family knows, to Hugging Face's names of the same."""

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
_EXPERTS = {
    "llama": {"num_local_experts": "expert_count", "num_experts_per_tok": "expert_used_count"},
    "qwen3moe": {
        "num_experts": "expert_count",
        "num_experts_per_tok": "expert_used_count",
        "moe_intermediate_size": "expert_feed_forward_length",
    },
}
"""Further keys of the architectures that may have experts."""
_WITH_EXPERTS: Mapping[str, Mapping[str, Any]] = {
    "llama": {"model_type": "mixtral", "sliding_window": None},
    "qwen3moe": {"norm_topk_prob": True},
}
"""What goes without saying of the same: llama.cpp calls Mixtral `llama` too."""
_FREQUENCIES = "rope_freqs.weight"
_QWEN_NAMES = {"rms_norm_eps": "layer_norm_epsilon", "rope_theta": "rotary_emb_base"}
"""Names that the config.json of Qwen's first generation has in place of Hugging Face's usual ones."""


def config_of_gguf(tensors: GgufTensors) -> ModelConfig:
    """The configuration of the model in a GGUF file.

    Args:
        tensors: the open file, of which the header is read alone.

    Returns:
        The family's configuration.

    Raises:
        UserError: no family can do what the header asks for.
    """
    shapes = {name: tensors.info(name).shape for name in tensors}
    where = str(tensors.path)
    return config_from_hf(hf_from_gguf(tensors.metadata, shapes, where), where)


def gguf_documents(tensors: GgufTensors) -> dict[str, dict[str, Any]]:
    """The entry point `config` of the group `mf.gguf_documents`; host only.

    Args:
        tensors: an open file.

    Returns:
        The config.json of its model, by that name.

    Raises:
        UserError: no family can do what the header asks for.
    """
    return {"config.json": config_of_gguf(tensors).to_hf()}


def hf_from_gguf(metadata: Mapping[str, Any], tensors: Mapping[str, tuple[int, ...]], where: str) -> dict[str, Any]:
    """Translate the hyperparameters; what would change numbers and is not known here is refused.

    Args:
        metadata: the entries of the file's header.
        tensors: name to shape of its tensors.
        where: the file's name in messages.

    Returns:
        The content of a config.json.

    Raises:
        UserError: another architecture, a size that is missing, experts where the architecture has none that are
            known here, or scaled rotary positions.
    """
    architecture = str(metadata.get("general.architecture", ""))
    if architecture not in _ARCHITECTURES:
        near = nearest(architecture, _ARCHITECTURES)
        hint = f" Did you mean {near}?" if near else ""
        allowed = name_values(_ARCHITECTURES)
        raise UserError(f"{where}: general.architecture: {architecture!r} is not read. Allowed: {allowed}.{hint}")
    own = {key.removeprefix(f"{architecture}."): value for key, value in metadata.items()}
    has_experts = architecture in _EXPERTS and own.get("expert_count", 0) > 0
    sizes = _SIZES | (_EXPERTS[architecture] if has_experts else {})
    missing = [f"{architecture}.{key}" for key in sizes.values() if key not in own]
    if missing or "token_embd.weight" not in tensors:
        lacks = ", ".join(missing or ["token_embd.weight"])
        raise UserError(f"{where}: has no {lacks}. Allowed: a whole language model.")
    _check_plain(own, tensors, where, has_experts)
    found = {
        "model_type": _ARCHITECTURES[architecture],
        **{name: own[key] for name, key in sizes.items()},
        **{name: own[key] for name, key in _OPTIONAL.items() if key in own},
        **{name: metadata.get(f"tokenizer.ggml.{key}") for name, key in _TOKENS.items()},
        "tie_word_embeddings": "output.weight" not in tensors,
        "vocab_size": tensors["token_embd.weight"][0],
        **(_WITH_EXPERTS[architecture] if has_experts else {}),
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


def _check_plain(own: Mapping[str, Any], tensors: Collection[str], where: str, has_experts: bool) -> None:
    """Refuse experts that are not known, and rotary positions that are scaled or of a part of a head."""
    if own.get("expert_count", 0) and not has_experts:
        raise UserError(f"{where}: expert_count: {own['expert_count']} experts are not read. Allowed: 0.")
    scaling = own.get("rope.scaling.type", "none")
    if scaling != "none" or _FREQUENCIES in tensors:
        what = f"tensor {_FREQUENCIES}" if scaling == "none" else f"rope.scaling.type: {scaling!r}"
        raise UserError(f"{where}: {what}: scaled positions of a GGUF file are not read. Allowed: none.")
    head_dim = own.get("attention.key_length", own["embedding_length"] // own["attention.head_count"])
    if own.get("rope.dimension_count", head_dim) != head_dim:
        what = f"{own['rope.dimension_count']} of {head_dim} elements of a head are rotated"
        raise UserError(f"{where}: rope.dimension_count: {what}. Allowed: {head_dim}.")

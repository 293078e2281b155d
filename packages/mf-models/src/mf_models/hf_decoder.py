"""What the config.json files of all decoders of the Llama kind have in common, there and back."""

from collections.abc import Mapping
from typing import Any

from mf_models.config_keys.classes import CLASSIFIER, ClassKeys, classifier_of
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.numerics import STORED_TYPE
from mf_models.config_keys.tokens import TokenKeys
from mf_models.hf_config import HfConfig
from mf_models.hf_rotary import read_rotary, rotary_to_hf


def read_decoder(
    hf: HfConfig,
    *,
    epsilon: float = 1e-6,
    tied: bool = False,
    original_positions: int | None = None,
    positions_key: str | None = None,
) -> dict[str, Any]:
    """Take the common keys out of a config.json.

    The dtype in it says how the weights are stored, not how they are computed with, so it is not taken over.

    Args:
        hf: the file.
        epsilon: the family's default of `rms_norm_eps`.
        tied: the family's default of `tie_word_embeddings`.
        original_positions: see `read_rotary`.
        positions_key: where the file has its positions, if not in max_position_embeddings.

    Returns:
        Values of the keys of `DecoderKeys`.
    """
    positions = hf.count(positions_key or "max_position_embeddings")
    hf.require("attention_dropout", (0.0,), absent=0.0)
    classes = read_classes(hf)
    hf.ignore(IGNORED_IN_HF)
    return {
        "seq_length": positions,
        "max_position_embedding": positions,
        "hidden_size": hf.count("hidden_size"),
        "num_layers": hf.count("num_hidden_layers"),
        "num_heads": hf.count("num_attention_heads"),
        "n_kv_heads": hf.optional_count("num_key_value_heads"),
        "intermediate_size": hf.count("intermediate_size"),
        "vocab_size": hf.count("vocab_size"),
        "rms_norm_eps": hf.number("rms_norm_eps", epsilon),
        "tie_word_embeddings": hf.flag("tie_word_embeddings", tied),
        "initializer_range": hf.number("initializer_range", 0.02),
        "num_labels": classes,
        **read_tokens(hf),
        **read_rotary(hf, positions, original_positions),
    }


def head_width(hf: HfConfig, keys: Mapping[str, Any]) -> dict[str, Any]:
    """The width of a head where it is not the one that the width of the network makes.

    Args:
        hf: the file.
        keys: result of `read_decoder`.

    Returns:
        The value of `kv_channels`.
    """
    width = hf.optional_count("head_dim")
    return {"kv_channels": None if width == keys["hidden_size"] // keys["num_heads"] else width}


def read_tokens(hf: HfConfig) -> dict[str, Any]:
    """Take the special tokens out of a config.json."""
    return {
        "bos_token_id": hf.token("bos_token_id", 1),
        "eos_token_id": hf.tokens("eos_token_id", 2),
        "pad_token_id": hf.token("pad_token_id", None),
    }


def read_classes(hf: HfConfig) -> int | None:
    """Take the classes out of a config.json: how many there are, None where the network scores the next token."""
    count = hf.entries("id2label") or hf.optional_count("num_labels") or 2
    hf.ignore(("label2id", "problem_type"))
    return count if any(name.endswith(CLASSIFIER) for name in hf.words("architectures")) else None


def network_to_hf(config: ClassKeys, architecture: str) -> dict[str, Any]:
    """The name of the network, and the names of its classes, which are numbers.

    Args:
        config: a family's configuration.
        architecture: Hugging Face's name of the network that scores the next token.
    """
    if config.num_labels is None:
        return {"architectures": [architecture]}
    names = {str(number): f"LABEL_{number}" for number in range(config.num_labels)}
    numbers = {name: int(number) for number, name in names.items()}
    return {"architectures": [classifier_of(architecture)], "id2label": names, "label2id": numbers}


def require_model_type(hf: HfConfig, model_types: tuple[str, ...]) -> None:
    """Refuse files of other families, and other activations than SiLU."""
    hf.require("model_type", model_types, absent="none")
    hf.require("hidden_act", ("silu",), absent="silu")


def require_full_attention(hf: HfConfig, layers: int) -> None:
    """Refuse windows that the file's list of layer types asks for."""
    hf.require("layer_types", (None, ["full_attention"] * layers), absent=None)


def decoder_to_hf(config: DecoderKeys, architecture: str, model_type: str) -> dict[str, Any]:
    """The common keys of a config.json.

    Args:
        config: a family's configuration.
        architecture: Hugging Face's name of the network.
        model_type: Hugging Face's name of the family.
    """
    return {
        **network_to_hf(config, architecture),
        "model_type": model_type,
        **tokens_to_hf(config),
        "attention_dropout": 0.0,
        "head_dim": config.head_dim,
        "hidden_act": "silu",
        "hidden_size": config.hidden_size,
        "initializer_range": config.initializer_range,
        "intermediate_size": config.inner_size,
        "max_position_embeddings": config.max_positions,
        "num_attention_heads": config.num_heads,
        "num_hidden_layers": config.num_layers,
        "num_key_value_heads": config.num_kv_heads,
        "rms_norm_eps": config.rms_norm_eps,
        **rotary_to_hf(config),
        "tie_word_embeddings": config.tie_word_embeddings,
        "torch_dtype": STORED_TYPE,
        "vocab_size": config.vocab_size,
    }


def tokens_to_hf(config: TokenKeys) -> dict[str, Any]:
    """The special tokens of a config.json."""
    end = config.eos_token_id
    return {
        "bos_token_id": config.bos_token_id,
        "eos_token_id": list(end) if isinstance(end, tuple) else end,
        "pad_token_id": config.pad_token_id,
    }


IGNORED_IN_HF = (
    "architectures",
    "torch_dtype",
    "dtype",
    "use_cache",
    "pretraining_tp",
    "transformers_version",
    "transformers.js_config",
    "tokenizer_class",
    "unk_token_id",
    "is_llama_config",
    "_name_or_path",
)
"""Keys of published files that change no number of the model; pretraining_tp only cuts the same products in pieces."""

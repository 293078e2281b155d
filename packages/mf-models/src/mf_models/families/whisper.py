"""Whisper (large-v3, 1.5B): speech to text, an encoder over mel spectra and a decoder over tokens.

Source of the sizes: Radford et al. 2022, Robust Speech Recognition via Large-Scale Weak Supervision, table 1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.execution import OperatorKeys, RecomputeKeys
from mf_models.config_keys.generation import GenerationKeys
from mf_models.config_keys.loading import AdaptationKeys
from mf_models.config_keys.numerics import FLOAT32_ALWAYS, FLOAT_TYPES, PrecisionKeys
from mf_models.config_keys.tokens import TokenKeys
from mf_models.model_config import NETWORK_NOT_BUILT


@component("model", "WhisperConfig", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class WhisperConfig(AdaptationKeys, OperatorKeys, RecomputeKeys, GenerationKeys, PrecisionKeys, TokenKeys):
    """Whisper, speech to text."""

    architectures: ClassVar[tuple[str, ...]] = ("WhisperForConditionalGeneration",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}

    d_model: int = key("Width of the residual streams.", 384, minimum=1)
    vocab_size: int = key("Rows of the embedding and of the head.", 51865, minimum=1)
    num_mel_bins: int = key("Frequency bands of a spectrum.", 80, minimum=1)
    encoder_layers: int = key("Blocks of the encoder.", 4, minimum=1)
    encoder_attention_heads: int = key("Heads of an encoder's block.", 6, minimum=1)
    encoder_ffn_dim: int = key("Inner width of the encoder's feed-forward.", 1536, minimum=1)
    encoder_layerdrop: float = key("Chance that an encoder's block is left out.", 0.0, minimum=0, maximum=1)
    decoder_layers: int = key("Blocks of the decoder.", 4, minimum=1)
    decoder_attention_heads: int = key("Heads of a decoder's block.", 6, minimum=1)
    decoder_ffn_dim: int = key("Inner width of the decoder's feed-forward.", 1536, minimum=1)
    decoder_layerdrop: float = key("Chance that a decoder's block is left out.", 0.0, minimum=0, maximum=1)
    max_source_positions: int = key("Most positions of the encoder, two spectra each.", 1500, minimum=1)
    max_target_positions: int = key("Most tokens of the decoder.", 448, minimum=1, unit="tokens")
    activation_function: str = key("Activation of the feed-forward.", "gelu", allowed=("gelu",))
    dropout: float = key("Dropout after each part of a block.", 0.0, minimum=0, maximum=1)
    attention_dropout: float = key("Dropout of attention weights.", 0.0, minimum=0, maximum=1)
    activation_dropout: float = key("Dropout inside the feed-forward.", 0.0, minimum=0, maximum=1)
    decoder_start_token_id: int = key("Token that the decoder begins with.", 50257, minimum=0)
    is_encoder_decoder: bool = key("Whether there is an encoder.", True, allowed=(True,))
    apply_spec_augment: bool = key("Mask parts of the spectra in training.", False)
    use_cache: bool = key("Keep keys and values in generation.", True, inert="generation always keeps them")
    num_hidden_layers: int | None = key(
        "Hugging Face's count of the encoder's blocks.",
        None,
        minimum=1,
        inert="encoder_layers and decoder_layers count",
    )
    num_layers_of_each_stage: tuple[int, ...] | None = key(
        "Blocks of each pipeline stage.", None, minimum=0, inert="there is one pipeline stage"
    )
    layernorm_compute_dtype: str = key("Type of the norms.", "float32", allowed=FLOAT_TYPES, inert=FLOAT32_ALWAYS)
    embedding_init_type: str = key(
        "Type of the embedding's weight.", "float16", allowed=FLOAT_TYPES, inert="it has the type param_init_type"
    )

    bos_token_id: int | None = again(TokenKeys, "bos_token_id", 50256)
    eos_token_id: int | tuple[int, ...] | None = again(TokenKeys, "eos_token_id", 50256)
    pad_token_id: int | None = again(TokenKeys, "pad_token_id", 50256)
    max_decode_length: int = again(GenerationKeys, "max_decode_length", 20)
    do_sample: bool = again(GenerationKeys, "do_sample", False)
    top_k: int = again(GenerationKeys, "top_k", 50)

    @property
    def hidden_size(self) -> int:
        """Width of the residual streams."""
        return self.d_model

    @property
    def num_layers(self) -> int:
        """Blocks of encoder and decoder together."""
        return self.encoder_layers + self.decoder_layers

    @property
    def num_heads(self) -> int:
        """Heads of a decoder's block."""
        return self.decoder_attention_heads

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads: one for each query head."""
        return self.decoder_attention_heads

    @property
    def seq_length(self) -> int:
        """Tokens of a training sequence in the decoder."""
        return self.max_target_positions

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit together: key name, what is wrong, what is allowed."""
        for name in ("encoder_attention_heads", "decoder_attention_heads"):
            if self.d_model % getattr(self, name):
                yield name, f"{getattr(self, name)} does not divide d_model {self.d_model}", "a divisor of d_model"
        yield from self.token_problems(self.vocab_size)
        if self.decoder_start_token_id >= self.vocab_size:
            what = f"{self.decoder_start_token_id} is not in a vocabulary of {self.vocab_size}"
            yield "decoder_start_token_id", what, f"up to {self.vocab_size - 1}"

"""DeepSeek-V2 (236B): latent attention, and experts as the section `moe_config` describes them.

Source of the sizes: DeepSeek-AI 2024, DeepSeek-V2, sections 2.1 and 3.1.2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.execution import NO_CHOICE
from mf_models.config_keys.numerics import FLOAT_TYPES
from mf_models.model_config import NETWORK_NOT_BUILT


@component("model", "DeepseekV2Config", pending=NETWORK_NOT_BUILT)
@dataclass(frozen=True, slots=True, kw_only=True)
class DeepseekV2Config(DecoderKeys):
    """DeepSeek-V2."""

    architectures: ClassVar[tuple[str, ...]] = ("DeepseekV2ForCausalLM",)
    pending_architectures: ClassVar[Mapping[str, str]] = {}

    q_lora_rank: int = key("Width of the latent that queries are made from.", 1536, minimum=1)
    kv_lora_rank: int = key("Width of the latent that keys and values are made from.", 512, minimum=1)
    qk_rope_head_dim: int = key("Rotated width of a query or key head.", 64, minimum=1)
    qk_nope_head_dim: int = key("Width of a query or key head that is not rotated.", 128, minimum=1)
    v_head_dim: int = key("Width of a value head.", 128, minimum=1)
    use_paged_attention: bool = key("Attention over cache pages.", False, inert=NO_CHOICE)
    use_incre_flash_attention: bool = key("Fused attention for one token at a time.", False, inert=NO_CHOICE)
    layernorm_compute_dtype: str | None = key(
        "A misspelling of layernorm_compute_type.", None, allowed=FLOAT_TYPES, inert="it is read nowhere"
    )

    num_layers: int = again(DecoderKeys, "num_layers", 30)
    n_kv_heads: int | None = again(
        DecoderKeys, "n_kv_heads", 32, inert="latent attention has a key/value head for each query head"
    )
    max_position_embeddings: int | None = key(
        "Most tokens of a sequence; seq_length where that is more.", 4096, minimum=1, unit="tokens"
    )
    max_position_embedding: int | None = again(
        DecoderKeys, "max_position_embedding", None, inert="this family reads max_position_embeddings"
    )
    intermediate_size: int | None = again(DecoderKeys, "intermediate_size", 12288)
    vocab_size: int = again(DecoderKeys, "vocab_size", 102400)
    rms_norm_eps: float = again(DecoderKeys, "rms_norm_eps", 1e-6)
    extend_method: str | None = again(DecoderKeys, "extend_method", "YARN")

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads: one for each query head, made from the common latent."""
        return self.num_heads

    @property
    def max_positions(self) -> int:
        """Most tokens of a sequence, prompt and answer together."""
        return max(self.max_position_embeddings or 0, self.seq_length)

    def head_problems(self) -> Iterator[tuple[str, str, str]]:
        """Heads have widths of their own; only the rotated part must be even."""
        if self.qk_rope_head_dim % 2:
            yield "qk_rope_head_dim", f"{self.qk_rope_head_dim} is odd, so it can't be rotated", "an even width"

"""Keys of decoders with multi-head latent attention, and what follows from them.

Source of the defaults: DeepSeek-AI 2024, DeepSeek-V2, section 3.1.2, and the run files of MindFormers.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import TRAIN_MODES, key
from mf_models.config_keys.again import again
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.execution import NO_CHOICE
from mf_models.config_keys.experts import ExpertKeys
from mf_models.config_keys.heads import UnbiasedKeys
from mf_models.config_keys.numerics import FLOAT_TYPES
from mf_models.config_keys.rotary import RotaryScaling


@dataclass(frozen=True, kw_only=True)
class LatentKeys(UnbiasedKeys):
    """A decoder whose queries, keys and values are made from narrow latents."""

    __slots__ = ()

    q_lora_rank: int | None = key(
        "Width of the latent that queries are made from; None makes them from the residual stream.", 1536, minimum=1
    )
    kv_lora_rank: int = key("Width of the latent that keys and values are made from.", 512, minimum=1)
    qk_rope_head_dim: int = key("Rotated width of a query or key head.", 64, minimum=1)
    qk_nope_head_dim: int = key("Width of a query or key head that is not rotated.", 128, minimum=1)
    v_head_dim: int = key("Width of a value head.", 128, minimum=1)
    rope_interleave: bool = key(
        "Whether the elements of a head that are rotated together are neighbours; else half the rotated width apart.",
        True,
    )
    use_paged_attention: bool = key("Attention over cache pages.", False, inert=NO_CHOICE)
    use_incre_flash_attention: bool = key("Fused attention for one token at a time.", False, inert=NO_CHOICE)
    layernorm_compute_dtype: str | None = key(
        "A misspelling of layernorm_compute_type.", None, allowed=FLOAT_TYPES, inert="it is read nowhere"
    )

    n_kv_heads: int | None = again(
        DecoderKeys, "n_kv_heads", 32, inert="latent attention has a key/value head for each query head"
    )
    max_position_embeddings: int | None = key(
        "Most tokens of a sequence; seq_length where that is more.", 4096, minimum=1, unit="tokens"
    )
    max_position_embedding: int | None = again(
        DecoderKeys, "max_position_embedding", None, inert="this family reads max_position_embeddings"
    )
    rms_norm_eps: float = again(DecoderKeys, "rms_norm_eps", 1e-6)
    extend_method: str | None = again(DecoderKeys, "extend_method", "YARN")

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads: one for each query head, made from the common latent."""
        return self.num_heads

    @property
    def head_dim(self) -> int:
        """Width of a query or key head."""
        return self.qk_nope_head_dim + self.qk_rope_head_dim

    @property
    def max_positions(self) -> int:
        """Most tokens of a sequence, prompt and answer together."""
        return max(self.max_position_embeddings or 0, self.seq_length)

    @property
    def attention_scale(self) -> float:
        """Factor of the scores; positions that are scaled by YARN sharpen them.

        Source: Peng et al. 2023, YaRN, equation 22, squared for query and key; mscale_all_dim weighs the logarithm as
        in DeepSeek-V2's published code.
        """
        scaling, growth = self.scaling_factor, 0.0
        if self.extend_method == "YARN" and isinstance(scaling, RotaryScaling):
            growth = 0.1 * (scaling.mscale_all_dim or 0.0) * math.log(scaling.factor)
        return (1.0 + growth) ** 2 / math.sqrt(self.head_dim)

    def head_problems(self) -> Iterator[tuple[str, str, str]]:
        """Heads have widths of their own; only the rotated part must be even."""
        if self.qk_rope_head_dim % 2:
            yield "qk_rope_head_dim", f"{self.qk_rope_head_dim} is odd, so it can't be rotated", "an even width"


@dataclass(frozen=True, kw_only=True)
class LatentExpertKeys(LatentKeys, ExpertKeys):
    """Latent attention, and experts in all blocks but the first ones."""

    __slots__ = ()

    seq_aux: bool = key(
        "Whether the balance losses of moe_config see each sequence by itself, instead of all tokens of a step.",
        False,
        modes=TRAIN_MODES,
    )

    @property
    def dense_layers(self) -> tuple[int, ...]:
        """The blocks with an ordinary feed-forward."""
        return tuple(range(min(self.num_layers, int(self.moe_config.first_k_dense_replace))))

    @property
    def shared_size(self) -> int:
        """Inner width of the experts that every token goes to, together."""
        return self.moe_config.shared_expert_num * self.moe_config.moe_intermediate_size

    def expert_problems(self) -> Iterator[tuple[str, str, str]]:
        """As for all experts; and groups that don't divide them, or leave too few to choose from."""
        yield from ExpertKeys.expert_problems(self)
        yield from self.only(use_shared_expert_gating=False)
        moe = self.moe_config
        if moe.topk_method != "group_limited_greedy":
            return
        groups, kept = moe.n_group or 0, moe.topk_group or 0
        if not groups or moe.expert_num % groups:
            yield "moe_config.n_group", f"{groups} groups can't divide {moe.expert_num} experts", "a divisor of it"
        elif not 1 <= kept <= groups:
            yield "moe_config.topk_group", f"{kept} of {groups} groups can't be chosen", f"from 1 to {groups}"
        elif moe.num_experts_chosen > kept * (moe.expert_num // groups):
            what = f"{kept} groups of {moe.expert_num // groups} experts have no {moe.num_experts_chosen} to choose"
            yield "moe_config.topk_group", what, f"up to {groups}"

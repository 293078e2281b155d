"""Widths of multi-head latent attention, as the cells take them; imports no MindSpore."""

from dataclasses import dataclass

from mf_models.config_keys.latent import LatentKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentConfig:
    """Heads whose queries, keys and values are made from vectors narrower than all heads together.

    Attributes:
        query_rank: width of the latent of the queries; None where they are made from the residual stream directly.
        rank: width of the common latent of keys and values.
        plain_dim: width of a query or key head that knows no positions.
        rotary_dim: width of a query or key head that is rotated, even; this part of the key is common to all heads.
        value_dim: width of a value head.
        interleaved: whether the elements that are rotated together are neighbours; False where they are half of
            `rotary_dim` apart.
    """

    query_rank: int | None
    rank: int
    plain_dim: int
    rotary_dim: int
    value_dim: int
    interleaved: bool = True

    @classmethod
    def of(cls, keys: LatentKeys) -> "LatentConfig":
        """The heads that the keys of a run file describe."""
        return cls(
            query_rank=keys.q_lora_rank,
            rank=keys.kv_lora_rank,
            plain_dim=keys.qk_nope_head_dim,
            rotary_dim=keys.qk_rope_head_dim,
            value_dim=keys.v_head_dim,
            interleaved=keys.rope_interleave,
        )

    @property
    def query_dim(self) -> int:
        """Width of a query head."""
        return self.plain_dim + self.rotary_dim

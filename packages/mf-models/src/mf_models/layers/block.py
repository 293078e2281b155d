"""One decoder block. Legend: B batch, T tokens, S keys, D model dim, C = rotated part of a head / 2."""

from mindspore import Tensor, nn, ops

from mf_models.cache import CacheIndex, KvCache
from mf_models.kernels.attention import Mask
from mf_models.layers.attention import SelfAttention
from mf_models.layers.config import DecoderConfig
from mf_models.layers.dropout import Dropout
from mf_models.layers.latent_attention import LatentAttention
from mf_models.layers.mlp import FEED_FORWARDS
from mf_models.layers.moe import Losses, expert_feed_forward
from mf_models.layers.norm import NORMS


class DecoderBlock(nn.Cell):
    """x + attention(norm(x)), then x + feed_forward(norm(x)); each result may be normed before it is added."""

    def __init__(self, config: DecoderConfig, layer: int):
        super().__init__()
        norm, size = NORMS[config.norm], (config.hidden_size, config.norm_epsilon)
        self.attention_norm = norm(*size)
        attention = SelfAttention if config.latent is None else LatentAttention
        self.attention = attention(config, layer)
        self.attention_post_norm = norm(*size) if config.post_norms else None
        self.ffn_norm = norm(*size)
        moe = config.moe_of(layer)
        self.has_experts = moe is not None
        self.feed_forward = (
            FEED_FORWARDS[config.feed_forward](config.hidden_size, config.intermediate_size)
            if moe is None
            else expert_feed_forward(config.hidden_size, moe)
        )
        self.ffn_post_norm = norm(*size) if config.post_norms else None
        self.dropout = Dropout(config.hidden_dropout)
        self.add = ops.Add()

    def construct(
        self,
        x_BTD: Tensor,
        cos_B1TC: Tensor | None,
        sin_B1TC: Tensor | None,
        mask: Mask,
        cache: KvCache | None = None,
        cache_index: CacheIndex | None = None,
    ) -> tuple[Tensor, Losses]:
        """[B, T, D] to [B, T, D], and the losses of its experts; the other arguments are those of `SelfAttention`."""
        normed_BTD = self.attention_norm(x_BTD)
        mixed_BTD = self.attention(normed_BTD, cos_B1TC, sin_B1TC, mask, cache, cache_index)
        if self.attention_post_norm is not None:
            mixed_BTD = self.attention_post_norm(mixed_BTD)
        x_BTD = self.add(x_BTD, mixed_BTD)
        losses: Losses = ()
        if self.has_experts:
            fed_BTD, losses = self.feed_forward(self.ffn_norm(x_BTD))
        else:
            fed_BTD = self.feed_forward(self.ffn_norm(x_BTD))
        if self.ffn_post_norm is not None:
            fed_BTD = self.ffn_post_norm(fed_BTD)
        return self.add(x_BTD, self.dropout(fed_BTD)), losses

"""One decoder block. Legend: B batch, T tokens, S keys, D model dim, C = rotated part of a head / 2."""

from mindspore import Tensor, nn

from mf_models.cache import KvCache
from mf_models.layers.attention import SelfAttention
from mf_models.layers.config import DecoderConfig
from mf_models.layers.mlp import FEED_FORWARDS
from mf_models.layers.norm import NORMS


class DecoderBlock(nn.Cell):
    """x + attention(norm(x)), then x + feed_forward(norm(x)); each result may be normed before it is added."""

    def __init__(self, config: DecoderConfig, layer: int):
        super().__init__()
        norm, size = NORMS[config.norm], (config.hidden_size, config.norm_epsilon)
        self.attention_norm = norm(*size)
        self.attention = SelfAttention(config, layer)
        self.attention_post_norm = norm(*size) if config.post_norms else None
        self.ffn_norm = norm(*size)
        self.feed_forward = FEED_FORWARDS[config.feed_forward](config.hidden_size, config.intermediate_size)
        self.ffn_post_norm = norm(*size) if config.post_norms else None

    def construct(
        self,
        x_BTD: Tensor,
        cos_B1TC: Tensor | None,
        sin_B1TC: Tensor | None,
        mask_BTS: Tensor,
        cache: KvCache | None = None,
        cache_index: Tensor | None = None,
    ) -> Tensor:
        """[B, T, D] to [B, T, D]; the other arguments are those of `SelfAttention`."""
        normed_BTD = self.attention_norm(x_BTD)
        mixed_BTD = self.attention(normed_BTD, cos_B1TC, sin_B1TC, mask_BTS, cache, cache_index)
        if self.attention_post_norm is not None:
            mixed_BTD = self.attention_post_norm(mixed_BTD)
        x_BTD = x_BTD + mixed_BTD
        fed_BTD = self.feed_forward(self.ffn_norm(x_BTD))
        if self.ffn_post_norm is not None:
            fed_BTD = self.ffn_post_norm(fed_BTD)
        return x_BTD + fed_BTD

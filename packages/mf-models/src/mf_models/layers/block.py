"""One decoder block. Legend: B batch, T tokens, S keys, D model dim, C = head dim / 2."""

from mindspore import Tensor, nn

from mf_models.cache import KvCache
from mf_models.layers.attention import SelfAttention
from mf_models.layers.config import DecoderConfig
from mf_models.layers.mlp import GatedMlp
from mf_models.layers.norm import RmsNorm


class DecoderBlock(nn.Cell):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, config: DecoderConfig, layer: int):
        super().__init__()
        self.attention_norm = RmsNorm(config.hidden_size, config.norm_epsilon)
        self.attention = SelfAttention(config, layer)
        self.ffn_norm = RmsNorm(config.hidden_size, config.norm_epsilon)
        self.feed_forward = GatedMlp(config.hidden_size, config.intermediate_size)

    def construct(
        self,
        x_BTD: Tensor,
        cos_B1TC: Tensor,
        sin_B1TC: Tensor,
        mask_BTS: Tensor,
        cache: KvCache | None = None,
        cache_index: Tensor | None = None,
    ) -> Tensor:
        """[B, T, D] to [B, T, D]; the other arguments are those of `SelfAttention`."""
        normed_BTD = self.attention_norm(x_BTD)
        x_BTD = x_BTD + self.attention(normed_BTD, cos_B1TC, sin_B1TC, mask_BTS, cache, cache_index)
        return x_BTD + self.feed_forward(self.ffn_norm(x_BTD))

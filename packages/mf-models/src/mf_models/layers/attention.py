"""Self-attention.

Legend: B batch, T tokens, S keys, D model dim, N query heads, K key/value heads, H head dim, C = rotated part of H / 2,
F = heads * H.
"""

from mindspore import Tensor, nn

from mf_models.cache import KvCache
from mf_models.kernels.select import select_kernels
from mf_models.layers.config import DecoderConfig
from mf_models.layers.linear import Linear
from mf_models.layers.norm import RmsNorm


class SelfAttention(nn.Cell):
    """Grouped-query attention; positions are rotary where the block is given angles.

    `layer` is the number of its block, which selects its rows of a cache.
    """

    def __init__(self, config: DecoderConfig, layer: int):
        super().__init__()
        self.wq = Linear(config.hidden_size, config.num_heads * config.head_dim, config.qkv_bias)
        self.wk = Linear(config.hidden_size, config.num_kv_heads * config.head_dim, config.qkv_bias)
        self.wv = Linear(config.hidden_size, config.num_kv_heads * config.head_dim, config.qkv_bias)
        self.wo = Linear(config.num_heads * config.head_dim, config.hidden_size, config.output_bias)
        self.q_norm = RmsNorm(config.head_dim, config.norm_epsilon) if config.query_key_norm else None
        self.k_norm = RmsNorm(config.head_dim, config.norm_epsilon) if config.query_key_norm else None
        self.head_dim = config.head_dim
        self.scale = config.attention_scale or config.head_dim**-0.5
        self.cap = config.attention_cap
        self.layer = layer
        kernels = select_kernels()
        self.rotate = kernels.rotate
        self.attention = kernels.attention
        self.capped_attention = kernels.capped_attention

    def construct(
        self,
        x_BTD: Tensor,
        cos_B1TC: Tensor | None,
        sin_B1TC: Tensor | None,
        mask_BTS: Tensor,
        cache: KvCache | None = None,
        cache_index: Tensor | None = None,
    ) -> Tensor:
        """Mix the tokens of each sequence.

        Args:
            x_BTD: [B, T, D].
            cos_B1TC: [B or 1, 1, T, C]; None where positions are not rotary.
            sin_B1TC: likewise.
            mask_BTS: [B or 1, T, S], added to the scores; S is T, or the cache's max_tokens.
            cache: where keys and values are added and read; without one the tokens see only each other.
            cache_index: result of `cache.index`.

        Returns:
            [B, T, D].
        """
        q_BNTH = self.split_heads(self.wq(x_BTD))
        k_BKSH = self.split_heads(self.wk(x_BTD))
        if self.q_norm is not None and self.k_norm is not None:
            q_BNTH = self.q_norm(q_BNTH)
            k_BKSH = self.k_norm(k_BKSH)
        if cos_B1TC is not None:
            q_BNTH = self.rotate(q_BNTH, cos_B1TC, sin_B1TC)
            k_BKSH = self.rotate(k_BKSH, cos_B1TC, sin_B1TC)
        v_BKSH = self.split_heads(self.wv(x_BTD))
        if cache is not None:
            k_BKSH, v_BKSH = cache.append(self.layer, k_BKSH, v_BKSH, cache_index)
        if self.cap is None:
            out_BNTH = self.attention(q_BNTH, k_BKSH, v_BKSH, mask_BTS, self.scale)
        else:
            out_BNTH = self.capped_attention(q_BNTH, k_BKSH, v_BKSH, mask_BTS, self.scale, self.cap)
        out_BTNH = out_BNTH.transpose((0, 2, 1, 3))
        batch, tokens = out_BTNH.shape[:2]
        return self.wo(out_BTNH.reshape((batch, tokens, -1)))

    def split_heads(self, x_BTF: Tensor) -> Tensor:
        """[B, T, heads * H] to [B, heads, T, H]; the number of heads is what the weight holds."""
        batch, tokens = x_BTF.shape[:2]
        return x_BTF.reshape((batch, tokens, -1, self.head_dim)).transpose((0, 2, 1, 3))

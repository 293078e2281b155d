"""Self-attention.

Legend: B batch, T tokens, S keys, D model dim, N query heads, K key/value heads, H head dim, C = H / 2, F = heads * H.
"""

from mindspore import Tensor, nn

from mf_models.cache import KvCache
from mf_models.kernels.select import select_kernels
from mf_models.layers.config import DecoderConfig
from mf_models.layers.linear import Linear


class SelfAttention(nn.Cell):
    """Grouped-query attention with rotary positions.

    `layer` is the number of its block, which selects its rows of a cache.
    """

    def __init__(self, config: DecoderConfig, layer: int):
        super().__init__()
        self.wq = Linear(config.hidden_size, config.num_heads * config.head_dim)
        self.wk = Linear(config.hidden_size, config.num_kv_heads * config.head_dim)
        self.wv = Linear(config.hidden_size, config.num_kv_heads * config.head_dim)
        self.wo = Linear(config.num_heads * config.head_dim, config.hidden_size)
        self.head_dim = config.head_dim
        self.layer = layer
        kernels = select_kernels()
        self.rotate = kernels.rotate
        self.attention = kernels.attention

    def construct(
        self,
        x_BTD: Tensor,
        cos_B1TC: Tensor,
        sin_B1TC: Tensor,
        mask_BTS: Tensor,
        cache: KvCache | None = None,
        cache_index: Tensor | None = None,
    ) -> Tensor:
        """Mix the tokens of each sequence.

        Args:
            x_BTD: [B, T, D].
            cos_B1TC: [B or 1, 1, T, C].
            sin_B1TC: [B or 1, 1, T, C].
            mask_BTS: [B or 1, T, S], added to the scores; S is T, or the cache's max_tokens.
            cache: where keys and values are added and read; without one the tokens see only each other.
            cache_index: result of `cache.index`.

        Returns:
            [B, T, D].
        """
        q_BNTH = self.rotate(self.split_heads(self.wq(x_BTD)), cos_B1TC, sin_B1TC)
        k_BKSH = self.rotate(self.split_heads(self.wk(x_BTD)), cos_B1TC, sin_B1TC)
        v_BKSH = self.split_heads(self.wv(x_BTD))
        if cache is not None:
            k_BKSH, v_BKSH = cache.append(self.layer, k_BKSH, v_BKSH, cache_index)
        out_BTNH = self.attention(q_BNTH, k_BKSH, v_BKSH, mask_BTS).transpose((0, 2, 1, 3))
        batch, tokens = out_BTNH.shape[:2]
        return self.wo(out_BTNH.reshape((batch, tokens, -1)))

    def split_heads(self, x_BTF: Tensor) -> Tensor:
        """[B, T, heads * H] to [B, heads, T, H]; the number of heads is what the weight holds."""
        batch, tokens = x_BTF.shape[:2]
        return x_BTF.reshape((batch, tokens, -1, self.head_dim)).transpose((0, 2, 1, 3))

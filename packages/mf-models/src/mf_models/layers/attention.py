"""Self-attention.

Legend: B batch, T tokens, S keys, D model dim, N query heads, K key/value heads, H head dim, C = rotated part of H / 2,
F = heads * H.
"""

from mindspore import Tensor, ops

from mf_models.cache import CacheIndex, KvCache
from mf_models.kernels.attention import Mask
from mf_models.kernels.select import select_kernels
from mf_models.layers.config import DecoderConfig
from mf_models.layers.dropout import Dropout
from mf_models.layers.linear import Linear
from mf_models.layers.log_scale import LogScale
from mf_models.layers.norm import RmsNorm
from mf_models.layers.prefix import KeyValuePrefix
from mf_models.layers.typed import Typed

_SWAPPED = (0, 2, 1, 3)
"""Tokens and heads change places."""


class SelfAttention(Typed):
    """Grouped-query attention; positions are rotary where the block is given angles.

    `layer` is the number of its block, which selects its rows of a cache.

    Attributes:
        prefix: learnt keys and values that all queries see; None until parameter-efficient training puts one here.
    """

    computed_as = "softmax"

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
        self.alibi = config.alibi
        self.log_scale = LogScale(config.log_scaled_from) if config.log_scaled_from else None
        self.dropout = Dropout(config.attention_dropout)
        self.output_dropout = Dropout(config.hidden_dropout)
        self.prefix: KeyValuePrefix | None = None
        kernels = select_kernels()
        self.rotate = kernels.rotate
        self.attention = kernels.attention
        self.capped_attention = kernels.capped_attention
        self.general_attention = kernels.general_attention
        is_plain = self.cap is None and self.log_scale is None and not config.alibi
        self.rotary_attention = kernels.rotary_attention if is_plain else None
        self.sees_all = is_plain and config.window(layer) is None
        self.swap = ops.Transpose()

    @property
    def cache_sizes(self) -> tuple[int, int, int]:
        """Heads, and widths of key and value, in a cache."""
        return self.wk.weight.shape[0] // self.head_dim, self.head_dim, self.head_dim

    def construct(
        self,
        x_BTD: Tensor,
        cos_B1TC: Tensor | None,
        sin_B1TC: Tensor | None,
        mask: Mask,
        cache: KvCache | None = None,
        cache_index: CacheIndex | None = None,
    ) -> Tensor:
        """Mix the tokens of each sequence.

        Args:
            x_BTD: [B, T, D].
            cos_B1TC: [B or 1, 1, T, C]; None where positions are not rotary.
            sin_B1TC: likewise.
            mask: [B or 1, T, S], added to the scores, and its span; S is T, or the tokens of a row's blocks in the
                cache. With ALiBi [B or 1, N, T, S].
            cache: where keys and values are added and read; without one the tokens see only each other.
            cache_index: result of `cache.index`.

        Returns:
            [B, T, D].
        """
        q_BTNH = self.split_heads(self.wq(x_BTD))
        k_BTKH = self.split_heads(self.wk(x_BTD))
        v_BTKH = self.split_heads(self.wv(x_BTD))
        if self.q_norm is not None and self.k_norm is not None:
            q_BTNH = self.q_norm(q_BTNH)
            k_BTKH = self.k_norm(k_BTKH)
        if self.rotary_attention is not None and self.is_plain(cos_B1TC, mask):
            out_BTNH = self.rotary_attention(q_BTNH, k_BTKH, v_BTKH, cos_B1TC, sin_B1TC, self.scale, mask[1])
        else:
            q_BNTH = self.swap(q_BTNH, _SWAPPED)
            k_BKSH = self.swap(k_BTKH, _SWAPPED)
            v_BKSH = self.swap(v_BTKH, _SWAPPED)
            if cos_B1TC is not None:
                q_BNTH = self.rotate(q_BNTH, cos_B1TC, sin_B1TC)
                k_BKSH = self.rotate(k_BKSH, cos_B1TC, sin_B1TC)
            if cache is not None:
                assert cache_index is not None
                if cache.attends_to_blocks and q_BNTH.shape[2] == 1 and self.sees_all and self.prefix is None:
                    out_BN1H = cache.attend(self.layer, q_BNTH, (k_BKSH, v_BKSH), cache_index, self.scale)
                    return self.wo(out_BN1H.reshape((out_BN1H.shape[0], 1, -1)))
                k_BKSH, v_BKSH = cache.append(self.layer, k_BKSH, v_BKSH, cache_index)
            if self.log_scale is not None:
                q_BNTH = self.log_scale(q_BNTH, mask[0])
            if self.prefix is not None:
                k_BKSH, v_BKSH, mask_BTS = self.prefix(k_BKSH, v_BKSH, mask[0])
                mask = (mask_BTS, None)
            out_BTNH = self.swap(self.attend(q_BNTH, k_BKSH, v_BKSH, mask), _SWAPPED)
        return self.output_dropout(self.wo(out_BTNH.reshape((*out_BTNH.shape[:2], -1))))

    def is_plain(self, cos_B1TC: Tensor | None, mask: Mask) -> bool:
        """Whether positions are rotary, and a query sees the last tokens up to its own, without anything besides."""
        one_text = cos_B1TC is not None and mask[1] is not None
        return one_text and self.prefix is None and not self.dropout.is_active()

    def attend(self, q_BNTH: Tensor, k_BKSH: Tensor, v_BKSH: Tensor, mask: Mask) -> Tensor:
        """What the queries see, [B, N, T, H]; the mask is that of `construct`."""
        added, span = mask
        if self.cap is not None:
            return self.capped_attention(q_BNTH, k_BKSH, v_BKSH, self.converted(added), self.scale, self.cap)
        if not self.alibi and not self.dropout.is_active():
            return self.attention(q_BNTH, k_BKSH, v_BKSH, added, self.scale, span)
        mask_BNTS = added if self.alibi else added.reshape((added.shape[0], 1, added.shape[1], added.shape[2]))
        factors_BNTS = None
        if self.dropout.is_active():
            mask_BNTS = self.converted(mask_BNTS)
            factors_BNTS = self.dropout.factors((*q_BNTH.shape[:3], added.shape[-1]))
        return self.general_attention(q_BNTH, k_BKSH, v_BKSH, mask_BNTS, self.scale, factors_BNTS)

    def split_heads(self, x_BTF: Tensor) -> Tensor:
        """[B, T, heads * H] to [B, T, heads, H]; the number of heads is what the weight holds."""
        return x_BTF.reshape((*x_BTF.shape[:2], -1, self.head_dim))

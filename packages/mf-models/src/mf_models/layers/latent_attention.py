"""Multi-head latent attention.

Legend: B batch, T tokens, S keys, D model dim, N heads, L width of the common latent, P part of a query or key head
that is not rotated, R rotated part, Q = P + R, V value head dim, F = heads * their width, C = R / 2.
"""

from mindspore import Tensor, nn, ops

from mf_models.cache import CacheIndex, KvCache
from mf_models.kernels.attention import Mask
from mf_models.kernels.select import select_kernels
from mf_models.layers.config import DecoderConfig
from mf_models.layers.latent_config import LatentConfig
from mf_models.layers.linear import Linear
from mf_models.layers.norm import RmsNorm


class LatentAttention(nn.Cell):
    """Attention whose keys and values are made from one narrow latent a token, which is all that a cache holds.

    With a cache and few queries, the matrix that makes keys and values from latents is applied to queries and results
    instead, so that the latents themselves are the keys and values of a single head, and none is expanded.

    Source: DeepSeek-AI 2024, DeepSeek-V2, section 2.1 and appendix C.
    """

    def __init__(self, config: DecoderConfig, layer: int):
        """Takes a decoder with latent heads, and the number of the block, which selects its rows of a cache."""
        super().__init__()
        assert config.latent is not None
        sizes: LatentConfig = config.latent
        heads, width, rank = config.num_heads, config.hidden_size, sizes.query_rank
        self.q_proj: nn.Cell = Linear(width, heads * sizes.query_dim) if rank is None else None
        self.q2l_proj = None if rank is None else Linear(width, rank)
        self.lq_norm = None if rank is None else RmsNorm(rank, config.norm_epsilon)
        self.l2q_proj = None if rank is None else Linear(rank, heads * sizes.query_dim)
        self.kv2l = Linear(width, sizes.rank + sizes.rotary_dim)
        self.lkv_norm = RmsNorm(sizes.rank, config.norm_epsilon)
        self.lkv2kv = Linear(sizes.rank, heads * (sizes.plain_dim + sizes.value_dim))
        self.wo = Linear(heads * sizes.value_dim, width)
        self.rank, self.plain_dim, self.rotary_dim = sizes.rank, sizes.plain_dim, sizes.rotary_dim
        self.value_dim = sizes.value_dim
        self.interleaved = sizes.interleaved
        self.scale = config.attention_scale or sizes.query_dim**-0.5
        self.layer = layer
        kernels = select_kernels()
        self.rotate = kernels.rotate
        self.attention = kernels.attention
        self.concat = ops.Concat(-1)

    @property
    def cache_sizes(self) -> tuple[int, int, int]:
        """Heads, and widths of key and value, in a cache: latent and rotated part of the key, as of one head."""
        return 1, self.rank, self.rotary_dim

    def construct(
        self,
        x_BTD: Tensor,
        cos_B1TC: Tensor,
        sin_B1TC: Tensor,
        mask: Mask,
        cache: KvCache | None = None,
        cache_index: CacheIndex | None = None,
    ) -> Tensor:
        """Mix the tokens of each sequence.

        Args:
            x_BTD: [B, T, D].
            cos_B1TC: [B or 1, 1, T, C].
            sin_B1TC: likewise.
            mask: [B or 1, T, S], added to the scores, and its span; S is T, or the tokens of a row's blocks in the
                cache.
            cache: where latents are added and read; without one the tokens see only each other.
            cache_index: result of `cache.index`.

        Returns:
            [B, T, D].
        """
        batch, tokens = x_BTD.shape[:2]
        q_BNTQ = self.split_heads(self.queries(x_BTD), self.plain_dim + self.rotary_dim)
        q_BNTP = q_BNTQ[..., : self.plain_dim]
        q_BNTR = self.rotate(self.pairs(q_BNTQ[..., self.plain_dim :]), cos_B1TC, sin_B1TC)
        kv_B1TF = self.kv2l(x_BTD).reshape((batch, 1, tokens, -1))
        latent_B1SL = self.lkv_norm(kv_B1TF[..., : self.rank])
        k_B1SR = self.rotate(self.pairs(kv_B1TF[..., self.rank :]), cos_B1TC, sin_B1TC)
        if cache is not None and cache_index is not None:
            latent_B1SL, k_B1SR = cache.append(self.layer, latent_B1SL, k_B1SR, cache_index)
        if cache is not None and self.is_absorbed(tokens):
            out_BNTV = self.absorbed(q_BNTP, q_BNTR, latent_B1SL, k_B1SR, mask[0])
        else:
            out_BNTV = self.expanded(q_BNTP, q_BNTR, latent_B1SL, k_B1SR, mask)
        return self.wo(out_BNTV.transpose((0, 2, 1, 3)).reshape((batch, tokens, -1)))

    def queries(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, T, N * Q]."""
        if self.q2l_proj is not None and self.lq_norm is not None and self.l2q_proj is not None:
            return self.l2q_proj(self.lq_norm(self.q2l_proj(x_BTD)))
        return self.q_proj(x_BTD)

    def is_absorbed(self, tokens: int) -> bool:
        """Whether so many queries of a sequence take fewer multiplications where no key is expanded.

        For each head and key, a query takes 2 L + R of them with latents, and P + R + V with an expanded key and value,
        which take L (P + V). What is put beside the expanding matrix from outside can't be absorbed.
        """
        expanded_dim = self.plain_dim + self.value_dim
        is_cheaper = tokens * (2 * self.rank - expanded_dim) < self.rank * expanded_dim
        return is_cheaper and self.lkv2kv.adapter is None

    def expanded(self, q_BNTP: Tensor, q_BNTR: Tensor, latent_B1SL: Tensor, k_B1SR: Tensor, mask: Mask) -> Tensor:
        """Attention over keys and values of all heads, made from the latents: [B, N, T, V]."""
        batch, _, keys = latent_B1SL.shape[:3]
        kv_BSF = self.lkv2kv(latent_B1SL.reshape((batch, keys, -1)))
        kv_BNSF = self.split_heads(kv_BSF, self.plain_dim + self.value_dim)
        k_BNSR = ops.broadcast_to(k_B1SR, (*kv_BNSF.shape[:3], self.rotary_dim))
        k_BNSQ = self.concat((kv_BNSF[..., : self.plain_dim], k_BNSR))
        q_BNTQ = self.concat((q_BNTP, q_BNTR))
        return self.attention(q_BNTQ, k_BNSQ, kv_BNSF[..., self.plain_dim :], mask[0], self.scale, mask[1])

    def absorbed(self, q_BNTP: Tensor, q_BNTR: Tensor, latent_B1SL: Tensor, k_B1SR: Tensor, mask_BTS: Tensor) -> Tensor:
        """Attention over the latents themselves: [B, N, T, V], the same as `expanded`."""
        weight_FL = self.lkv2kv.converted(self.lkv2kv.weight)
        weight_NFL = weight_FL.reshape((-1, self.plain_dim + self.value_dim, self.rank))
        q_BNTL = ops.matmul(q_BNTP, weight_NFL[:, : self.plain_dim])
        queries_BNTF = self.concat((q_BNTL, q_BNTR))
        keys_B1SF = self.concat((latent_B1SL, k_B1SR))
        out_BNTL = self.attention(queries_BNTF, keys_B1SF, latent_B1SL, mask_BTS, self.scale)
        return ops.matmul(out_BNTL, weight_NFL[:, self.plain_dim :].transpose((0, 2, 1)))

    def split_heads(self, x_BTF: Tensor, head_dim: int) -> Tensor:
        """[B, T, heads * head_dim] to [B, heads, T, head_dim]; the number of heads is what the weight holds."""
        batch, tokens = x_BTF.shape[:2]
        return x_BTF.reshape((batch, tokens, -1, head_dim)).transpose((0, 2, 1, 3))

    def pairs(self, x_BNTR: Tensor) -> Tensor:
        """Elements in the order of `kernels.rotate`, [B, N, T, R]; scores don't depend on it."""
        if not self.interleaved:
            return x_BNTR
        pairs_BNTC2 = x_BNTR.reshape((*x_BNTR.shape[:3], -1, 2))
        return pairs_BNTC2.transpose((0, 1, 2, 4, 3)).reshape(x_BNTR.shape)

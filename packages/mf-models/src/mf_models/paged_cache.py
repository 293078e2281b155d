"""The cache of devices that have operators for blocks: one block holds all heads of its tokens.

Legend: B batch, N query heads, K key/value heads, T tokens of a step, W = B * T tokens that are written, L blocks of
the pool, M blocks of a sequence, P tokens of a block, S = M * P keys, H head dim.
"""

import mindspore as ms
from mindspore import Parameter, Tensor, ops

from mf_models.cache import CacheIndex, KvCache, owned_blocks
from mf_models.kernels.select import select_kernels

_HEADS_FIRST = (0, 2, 1, 3)


class PagedKvCache(KvCache):
    """A cache with pools [L, P, K, H], which ReshapeAndCache and PagedAttention want.

    One token of each sequence attends to the pool itself; several attend to what is read from it. The operators have no
    float32: a cache of that type is made bfloat16 by `CausalLanguageModel.new_cache`.
    """

    attends_to_blocks = True

    def __init__(self, layers: int, blocks: int, block_size: int, kv_heads: int, head_dim: int):
        """Takes the sizes; see `KvCache`."""
        super().__init__(layers, blocks, block_size, kv_heads, head_dim)
        kernels = select_kernels()
        self.reshape_and_cache = kernels.reshape_and_cache
        self.paged_attention = kernels.paged_attention
        self.swap = ops.Transpose()

    def pool_shape(self, dim: int) -> tuple[int, ...]:
        """[L, P, K, H]; see `KvCache.pool_shape`."""
        return self.blocks, self.block_size, self.kv_heads, dim

    def index(self, places_BT: Tensor, tables_BM: Tensor) -> CacheIndex:
        """Where the tokens of a step belong, and what its queries see.

        Args:
            places_BT: as for `KvCache.index`.
            tables_BM: likewise.

        Returns:
            Where the step writes, [W], the blocks that it reads, [B, M], and the tokens of each sequence after it, [B].
        """
        block_BT, offset_BT = owned_blocks(places_BT, tables_BM, self.block_size)
        slots_W = (block_BT * self.block_size + offset_BT).reshape((-1,))
        return slots_W, tables_BM, places_BT[:, -1] + 1

    def append(self, layer: int, k_BKTH: Tensor, v_BKTH: Tensor, index: CacheIndex) -> tuple[Tensor, Tensor]:
        """As `KvCache.append`; [B, K, S, H] each."""
        keys, values = self._write(layer, k_BKTH, v_BKTH, index)
        dtype = k_BKTH.dtype
        return self._read(keys, index[1]).astype(dtype), self._read(values, index[1]).astype(dtype)

    def attend(
        self, layer: int, q_BN1H: Tensor, rows: tuple[Tensor, Tensor], index: CacheIndex, scale: float
    ) -> Tensor:
        """Add the keys and values of one token of each sequence, and let it see all of its sequence.

        Args:
            layer: number of the block of the network.
            q_BN1H: [B, N, 1, H] queries.
            rows: keys and values of the tokens, [B, K, 1, H] each.
            index: result of `index` for the step.
            scale: factor of the scores.

        Returns:
            [B, N, 1, H].
        """
        keys, values = self._write(layer, rows[0], rows[1], index)
        out_BNH = self.paged_attention(q_BN1H.squeeze(2), keys, values, index[1], index[2], scale)
        return out_BNH.expand_dims(2)

    def copy_blocks(self, sources_C: Tensor, targets_C: Tensor) -> Tensor:
        """As `KvCache.copy_blocks`."""
        done = ops.zeros((1,), ms.float32)
        for pool_LPKH in self.keys + self.values:
            copied_CPKH = self.gather(pool_LPKH, sources_C, 0)
            written_LPKH = self.write_rows(pool_LPKH, targets_C.reshape((-1, 1)), copied_CPKH)
            done = done + written_LPKH[0, 0, 0, :1].astype(ms.float32)
        return done

    def _write(self, layer: int, k_BKTH: Tensor, v_BKTH: Tensor, index: CacheIndex) -> tuple[Tensor, Tensor]:
        """Both pools of a layer after the write, [L, P, K, H]."""
        keys: Parameter = self.keys[layer]
        rows_WKH = (keys.shape[2], keys.shape[3])
        k_WKH = self.swap(k_BKTH, _HEADS_FIRST).reshape((-1, *rows_WKH)).astype(keys.dtype)
        v_WKH = self.swap(v_BKTH, _HEADS_FIRST).reshape((-1, *rows_WKH)).astype(keys.dtype)
        pools: tuple[Tensor, Tensor] = self.reshape_and_cache(k_WKH, v_WKH, keys, self.values[layer], index[0])
        return pools

    def _read(self, pool_LPKH: Tensor, tables_BM: Tensor) -> Tensor:
        """The rows of the sequences, [B, K, S, H]."""
        batch = tables_BM.shape[0]
        rows_BSKH = self.gather(pool_LPKH, tables_BM, 0).reshape((batch, -1, *pool_LPKH.shape[2:]))
        return self.swap(rows_BSKH, _HEADS_FIRST)

"""Keys and values of the tokens seen so far, in blocks that sequences share, and the step that generation repeats.

Legend: B batch, K key/value heads, T tokens of a step, N blocks of a sequence, P tokens of a block, S = N * P keys,
H head dim, R = blocks of the pool * K, D model dim, V vocabulary.
"""

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.common.initializer import initializer

from mf_config.problems import UserError
from mf_models.graph_cache.cells import KeptGraph
from mf_models.kernels.select import select_kernels

_gather_in_row = ops.GatherD()

CacheIndex = tuple[Tensor, ...]
"""What `KvCache.index` gives: where a step writes, [B * K * T, 2], and what it reads, [B, K, N]."""


class KvCache(nn.Cell):
    """A pool of blocks in one pair of parameters a layer, [R, P, H]; rows are written in place.

    The heads of a block stand apart, so that what is read of a sequence is not turned around.

    Which blocks a sequence owns, and in what order, its row of the block tables says, so sequences of any length share
    the pool, and may share blocks that none of them writes any more. Block 0 belongs to nobody: what pads a table
    refers to it, and what pads a step is written there.

    Nothing need be cleared before a block has another owner: a row is visible only to queries at its position or
    later, and is written before any of those.

    Attributes:
        attends_to_blocks: False: queries attend to what `append` gives; see `mf_models.paged_cache` for the other kind.
    """

    attends_to_blocks = False

    def __init__(
        self, layers: int, blocks: int, block_size: int, kv_heads: int, key_dim: int, value_dim: int | None = None
    ):
        """Takes the sizes; `CausalLanguageModel.new_cache` fits them to a model.

        Args:
            layers: blocks of the network.
            blocks: blocks of the pool, that of nobody among them; at least 2.
            block_size: tokens of a block, at least 1.
            kv_heads: heads of the cached keys and values.
            key_dim: width of a cached key.
            value_dim: width of a cached value; that of a key where None.
        """
        super().__init__()
        if blocks < 2 or block_size < 1:
            raise UserError(
                f"a cache of {blocks} blocks of {block_size} tokens. Allowed: at least 2 blocks of 1 token."
            )
        self.blocks = blocks
        self.block_size = block_size
        self.kv_heads = kv_heads
        self.keys = _parameters("keys", layers, self.pool_shape(key_dim))
        self.values = _parameters("values", layers, self.pool_shape(value_dim or key_dim))
        self.write_rows = select_kernels().write_rows
        self.gather = ops.Gather()

    def pool_shape(self, dim: int) -> tuple[int, ...]:
        """Shape of the pool of one layer's keys or values, whose rows have so many elements."""
        return self.blocks * self.kv_heads, self.block_size, dim

    def index(self, places_BT: Tensor, tables_BN: Tensor) -> CacheIndex:
        """Where the rows of a step belong, and which rows its queries may see.

        Args:
            places_BT: [B, T] int32 places in the sequences. What lies beyond the table is written to nobody's block.
            tables_BN: [B, N] int32, the blocks of each sequence in order, then zeros.
        """
        batch, tokens = places_BT.shape
        columns = tables_BN.shape[1]
        block_BT, offset_BT = owned_blocks(places_BT, tables_BN, self.block_size)
        heads_1K1 = ops.arange(self.kv_heads).astype(ms.int32).reshape((1, -1, 1))
        row_BKT = block_BT.reshape((batch, 1, tokens)) * self.kv_heads + heads_1K1
        offset_BKT = ops.broadcast_to(offset_BT.reshape((batch, 1, tokens)), (batch, self.kv_heads, tokens))
        written_W2 = ops.stack((row_BKT.reshape((-1,)), offset_BKT.reshape((-1,))), 1)
        return written_W2, tables_BN.reshape((batch, 1, columns)) * self.kv_heads + heads_1K1

    def append(self, layer: int, k_BKTH: Tensor, v_BKTH: Tensor, index: CacheIndex) -> tuple[Tensor, Tensor]:
        """Add the keys and values of a step to one layer.

        Args:
            layer: number of the block of the network.
            k_BKTH: [B, K, T, H].
            v_BKTH: [B, K, T, H].
            index: result of `index` for the step.

        Returns:
            The keys and values of the sequences, [B, K, S, H] each; rows never written hold zeros.
        """
        return self._renew(self.keys[layer], k_BKTH, index), self._renew(self.values[layer], v_BKTH, index)

    def copy_blocks(self, sources_C: Tensor, targets_C: Tensor) -> Tensor:
        """Copy whole blocks in all layers; call it in graph code.

        Args:
            sources_C: [C] int32 blocks.
            targets_C: [C] int32 blocks, each once but for nobody's; none of them is a source.

        Returns:
            One number, without meaning: a graph needs an output.
        """
        heads_1K = ops.arange(self.kv_heads).astype(ms.int32).reshape((1, -1))
        from_R = (sources_C.reshape((-1, 1)) * self.kv_heads + heads_1K).reshape((-1,))
        to_R1 = (targets_C.reshape((-1, 1)) * self.kv_heads + heads_1K).reshape((-1, 1))
        done = ops.zeros((1,), ms.float32)
        for pool_RPH in self.keys + self.values:
            written_RPH = self.write_rows(pool_RPH, to_R1, self.gather(pool_RPH, from_R, 0))
            done = done + written_RPH[0, 0, :1]
        return done

    def _renew(self, pool_RPH: Parameter, rows_BKTH: Tensor, index: CacheIndex) -> Tensor:
        """Write the rows of a step into one pool, then read those of the sequences: [B, K, S, H]."""
        written_W2, read_BKN = index
        batch, heads, tokens, dim = rows_BKTH.shape
        pool_RPH = self.write_rows(pool_RPH, written_W2, rows_BKTH.reshape((batch * heads * tokens, dim)))
        return self.gather(pool_RPH, read_BKN, 0).reshape((batch, heads, -1, dim))


class CachedStep(KeptGraph):
    """Feed some tokens of each sequence and score the one that follows a chosen token: a prefill or a decoding step.

    Each number of sequences, tokens and blocks compiles once; use few.
    """

    def __init__(self, model: nn.Cell, cache: KvCache):
        """Takes a cell with `hidden` and `head`, and a cache of its sizes; several steps may share both."""
        super().__init__(auto_prefix=False)
        self.model = model
        self.cache = cache
        self.gather = ops.GatherD()

    def construct(self, input_ids_BT: Tensor, start_B: Tensor, last_B: Tensor, tables_BN: Tensor) -> Tensor:
        """Logits after one token of each row.

        Args:
            input_ids_BT: [B, T] int32, padded on the right.
            start_B: [B] int32, place of the first token of each row.
            last_B: [B] int32, index in the row of the token whose successor is wanted, from 0.
            tables_BN: [B, N] int32, the blocks of each row as `KvCache.index` takes them; the row's tokens fit in them.

        Returns:
            [B, V], float32.
        """
        x_BTD = self.model.hidden(input_ids_BT, start_B, self.cache, start_B + last_B + 1, None, tables_BN)
        batch, dim = x_BTD.shape[0], x_BTD.shape[2]
        index_B1D = ops.broadcast_to(last_B.reshape((-1, 1, 1)), (batch, 1, dim))
        return self.model.head(self.gather(x_BTD, 1, index_B1D).reshape((batch, dim)))


class ScoringStep(KeptGraph):
    """As `CachedStep`, but scores the successor of each token: for the probabilities of a prompt."""

    def __init__(self, model: nn.Cell, cache: KvCache):
        """See `CachedStep`."""
        super().__init__(auto_prefix=False)
        self.model = model
        self.cache = cache

    def construct(self, input_ids_BT: Tensor, start_B: Tensor, last_B: Tensor, tables_BN: Tensor) -> Tensor:
        """Logits after each token, [B, T, V] float32; arguments as in `CachedStep.construct`."""
        x_BTD = self.model.hidden(input_ids_BT, start_B, self.cache, start_B + last_B + 1, None, tables_BN)
        return self.model.head(x_BTD)


class BlockCopy(KeptGraph):
    """Copies blocks of a cache; each number of blocks compiles once."""

    def __init__(self, cache: KvCache):
        super().__init__(auto_prefix=False)
        self.cache = cache

    def construct(self, sources_C: Tensor, targets_C: Tensor) -> Tensor:
        """See `KvCache.copy_blocks`."""
        return self.cache.copy_blocks(sources_C, targets_C)


def owned_blocks(places_BT: Tensor, tables_BN: Tensor, block_size: int) -> tuple[Tensor, Tensor]:
    """The block of each token of a step, nobody's beyond the table, and its place in the block; [B, T] each."""
    columns = tables_BN.shape[1]
    column_BT = places_BT // block_size
    owned_BT = (column_BT < columns).astype(ms.int32)
    block_BT = _gather_in_row(tables_BN, 1, ops.minimum(column_BT, columns - 1)) * owned_BT
    return block_BT, places_BT - column_BT * block_size


def _parameters(name: str, layers: int, shape: tuple[int, ...]) -> ParameterTuple:
    """Zeros of one shape for each layer, without gradients."""
    return ParameterTuple(
        [
            Parameter(initializer("zeros", shape, ms.float32), name=f"{name}.{layer}", requires_grad=False)
            for layer in range(layers)
        ]
    )

"""Keys and values of the tokens seen so far, with static shapes, and the step that generation repeats.

Legend: B batch, K key/value heads, R = B * K, T tokens of a step, M cached tokens, H head dim, D model dim,
V vocabulary.
"""

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from mindspore.common.initializer import initializer

from mf_config.problems import UserError
from mf_models.kernels.select import select_kernels


class KvCache(nn.Cell):
    """One pair of parameters a layer, [R, M, H]; rows are written in place.

    Nothing need be cleared between sequences: a row is visible only to queries at its position or later, and is
    written before any of those.
    """

    def __init__(self, layers: int, batch_size: int, kv_heads: int, max_tokens: int, head_dim: int):
        """Takes the sizes; `CausalLanguageModel.new_cache` fits them to a model."""
        super().__init__()
        if batch_size < 1 or max_tokens < 1:
            raise UserError(f"a cache of {batch_size} sequences of {max_tokens} tokens. Allowed: at least 1 of each.")
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self.kv_heads = kv_heads
        shape = (batch_size * kv_heads, max_tokens, head_dim)
        self.keys = _parameters("keys", layers, shape)
        self.values = _parameters("values", layers, shape)
        self.write_rows = select_kernels().write_rows

    def index(self, positions_BT: Tensor) -> Tensor:
        """Where the rows of a step belong.

        Args:
            positions_BT: [B, T] int32, each below max_tokens. One that lies beyond stops the graph for good, padding
                included: check on the host.

        Returns:
            [B * K * T, 2] int32 pairs (row of the cache, position).
        """
        tokens = positions_BT.shape[1]
        shape = (self.batch_size * self.kv_heads, tokens)
        rows_R1 = ops.arange(shape[0]).astype(ms.int32).reshape((-1, 1))
        positions_BKT = ops.broadcast_to(
            positions_BT.reshape((self.batch_size, 1, tokens)), (self.batch_size, self.kv_heads, tokens)
        )
        return ops.stack((ops.broadcast_to(rows_R1, shape).reshape((-1,)), positions_BKT.reshape((-1,))), 1)

    def append(self, layer: int, k_BKTH: Tensor, v_BKTH: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of a step to one layer.

        Args:
            layer: number of the block.
            k_BKTH: [B, K, T, H].
            v_BKTH: [B, K, T, H].
            index: result of `index` for the step's positions.

        Returns:
            All keys and values of the layer, [B, K, M, H] each; rows never written hold zeros.
        """
        head_dim = k_BKTH.shape[3]
        shape = (self.batch_size, self.kv_heads, self.max_tokens, head_dim)
        keys_RMH = self.write_rows(self.keys[layer], index, k_BKTH.reshape((-1, head_dim)))
        values_RMH = self.write_rows(self.values[layer], index, v_BKTH.reshape((-1, head_dim)))
        return keys_RMH.reshape(shape), values_RMH.reshape(shape)


class CachedStep(nn.Cell):
    """Feed some tokens of each sequence and score the one that follows a chosen token: a prefill or a decoding step.

    Each number of tokens T compiles once; use few: one for prefill, and 1 for decoding.
    """

    def __init__(self, model: nn.Cell, cache: KvCache):
        """Takes a cell with `hidden` and `head`, and a cache of its sizes; several steps may share both."""
        super().__init__(auto_prefix=False)
        self.model = model
        self.cache = cache
        self.gather = ops.GatherD()

    def construct(self, input_ids_BT: Tensor, start_B: Tensor, last_B: Tensor) -> Tensor:
        """Logits after one token of each row.

        Args:
            input_ids_BT: [B, T] int32, padded on the right.
            start_B: [B] int32, position of the first token of each row; start + T is at most max_tokens.
            last_B: [B] int32, index in the row of the token whose successor is wanted, from 0.

        Returns:
            [B, V], float32.
        """
        x_BTD = self.model.hidden(input_ids_BT, start_B, self.cache, start_B + last_B + 1)
        batch, dim = x_BTD.shape[0], x_BTD.shape[2]
        index_B1D = ops.broadcast_to(last_B.reshape((-1, 1, 1)), (batch, 1, dim))
        return self.model.head(self.gather(x_BTD, 1, index_B1D).reshape((batch, dim)))


def _parameters(name: str, layers: int, shape: tuple[int, ...]) -> ParameterTuple:
    """Zeros of one shape for each layer, without gradients."""
    return ParameterTuple(
        [
            Parameter(initializer("zeros", shape, ms.float32), name=f"{name}.{layer}", requires_grad=False)
            for layer in range(layers)
        ]
    )

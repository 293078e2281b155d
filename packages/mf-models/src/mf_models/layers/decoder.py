"""Embedding, blocks and last norm. Legend: B batch, T tokens, S keys, D model dim."""

import mindspore as ms
from mindspore import Tensor, nn, ops

from mf_models.cache import KvCache
from mf_models.layers.block import DecoderBlock
from mf_models.layers.config import DecoderConfig
from mf_models.layers.embedding import Embedding
from mf_models.layers.norm import NORMS
from mf_models.layers.rope import rotary_angles

_HIDDEN_SCORE = -1e9
"""Added to the score of a key that a query must not see: its probability becomes exactly 0; infinity could make NaN."""


def causal_mask(positions_BT: Tensor, key_count: int, window: int | None = None) -> Tensor:
    """Let a query at position p see the keys at positions 0 to p, or the last ones of them.

    Args:
        positions_BT: [B, T] int32 positions of the queries.
        key_count: S; key s stands at position s.
        window: how many keys a query sees at most, its own among them; None for all.

    Returns:
        [B, T, S] float32: 0 where visible, a large negative number elsewhere.
    """
    keys_S = ops.arange(key_count).astype(ms.int32)
    batch, tokens = positions_BT.shape
    positions_BT1 = positions_BT.reshape((batch, tokens, 1))
    hidden_BTS = keys_S > positions_BT1
    if window is not None:
        hidden_BTS = ops.logical_or(hidden_BTS, keys_S <= positions_BT1 - window)
    return hidden_BTS.astype(ms.float32) * _HIDDEN_SCORE


class Decoder(nn.Cell):
    """Embedding, blocks and the last norm."""

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.tok_embeddings = Embedding(config.vocab_size, config.hidden_size)
        self.embedding_scale = config.embedding_scale
        rows = config.learned_positions
        self.position_embeddings = Embedding(rows, config.hidden_size) if rows else None
        self.angles = None if config.rotary is None else rotary_angles(config.rotary)
        self.layers = nn.CellList([DecoderBlock(config, layer) for layer in range(config.num_layers)])
        windows = [config.window(layer) for layer in range(config.num_layers)]
        self.windows = tuple(dict.fromkeys(windows))
        self.mask_of_layer = tuple(self.windows.index(window) for window in windows)
        self.norm_out = NORMS[config.norm](config.hidden_size, config.norm_epsilon)

    def construct(
        self,
        input_ids_BT: Tensor,
        start_B: Tensor | None = None,
        cache: KvCache | None = None,
        lengths_B: Tensor | None = None,
    ) -> Tensor:
        """Hidden states of each token, [B, T, D]; arguments as in `CausalLanguageModel.hidden`."""
        tokens = input_ids_BT.shape[1]
        positions_BT = ops.arange(tokens).astype(ms.int32).reshape((1, tokens))
        key_count = tokens
        cache_index = None
        if cache is not None:
            assert start_B is not None
            positions_BT = positions_BT + start_B.reshape((-1, 1))
            key_count = cache.max_tokens
            cache_index = cache.index(positions_BT)
        cos_B1TC = None
        sin_B1TC = None
        if self.angles is not None:
            cos_B1TC, sin_B1TC = self.angles(positions_BT, lengths_B)
        masks: tuple[Tensor, ...] = ()
        for window in self.windows:
            masks = (*masks, causal_mask(positions_BT, key_count, window))
        x_BTD = self.embed(input_ids_BT, positions_BT)
        for number, layer in enumerate(self.layers):
            mask_BTS = masks[self.mask_of_layer[number]]
            x_BTD = layer(x_BTD, cos_B1TC, sin_B1TC, mask_BTS, cache, cache_index)
        return self.norm_out(x_BTD)

    def embed(self, input_ids_BT: Tensor, positions_BT: Tensor) -> Tensor:
        """What enters the first block.

        Args:
            input_ids_BT: [B, T] int32.
            positions_BT: [B or 1, T] int32.

        Returns:
            [B, T, D], float32.
        """
        x_BTD = self.tok_embeddings(input_ids_BT)
        if self.embedding_scale != 1.0:
            x_BTD = x_BTD * self.embedding_scale
        return x_BTD if self.position_embeddings is None else x_BTD + self.position_embeddings(positions_BT)

"""Embedding, blocks and last norm. Legend: B batch, T tokens, S keys, D model dim."""

import mindspore as ms
from mindspore import Tensor, nn, ops

from mf_models.cache import KvCache
from mf_models.layers.block import DecoderBlock
from mf_models.layers.config import DecoderConfig
from mf_models.layers.embedding import Embedding
from mf_models.layers.norm import RmsNorm
from mf_models.layers.rope import RotaryAngles, inverse_frequencies

_HIDDEN_SCORE = -1e9
"""Added to the score of a key that a query must not see: its probability becomes exactly 0; infinity could make NaN."""


def causal_mask(positions_BT: Tensor, key_count: int) -> Tensor:
    """Let a query at position p see the keys at positions 0 to p.

    Args:
        positions_BT: [B, T] int32 positions of the queries.
        key_count: S; key s stands at position s.

    Returns:
        [B, T, S] float32: 0 where visible, a large negative number elsewhere.
    """
    keys_S = ops.arange(key_count).astype(ms.int32)
    batch, tokens = positions_BT.shape
    return (keys_S > positions_BT.reshape((batch, tokens, 1))).astype(ms.float32) * _HIDDEN_SCORE


class Decoder(nn.Cell):
    """Embedding, blocks and the last norm."""

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.tok_embeddings = Embedding(config.vocab_size, config.hidden_size)
        self.angles = RotaryAngles(inverse_frequencies(config.head_dim, config.rope_theta))
        self.layers = nn.CellList([DecoderBlock(config, layer) for layer in range(config.num_layers)])
        self.norm_out = RmsNorm(config.hidden_size, config.norm_epsilon)

    def construct(self, input_ids_BT: Tensor, start_B: Tensor | None = None, cache: KvCache | None = None) -> Tensor:
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
        cos_B1TC, sin_B1TC = self.angles(positions_BT)
        mask_BTS = causal_mask(positions_BT, key_count)
        x_BTD = self.tok_embeddings(input_ids_BT)
        for layer in self.layers:
            x_BTD = layer(x_BTD, cos_B1TC, sin_B1TC, mask_BTS, cache, cache_index)
        return self.norm_out(x_BTD)

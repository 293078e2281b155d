"""Embedding, blocks and last norm. Legend: B batch, T tokens, S keys, D model dim."""

import mindspore as ms
from mindspore import Tensor, nn, ops

from mf_models.cache import KvCache
from mf_models.kernels.attention import Mask
from mf_models.layers.alibi import AlibiMask
from mf_models.layers.block import DecoderBlock
from mf_models.layers.config import DecoderConfig
from mf_models.layers.dropout import Dropout
from mf_models.layers.embedding import Embedding
from mf_models.layers.moe import Losses
from mf_models.layers.norm import NORMS
from mf_models.layers.rope import rotary_angles

_HIDDEN_SCORE = -1e9
"""Added to the score of a key that a query must not see: its probability becomes exactly 0; infinity could make NaN."""


def causal_mask(
    places_BT: Tensor, key_count: int, window: int | None = None, document_starts_BT: Tensor | None = None
) -> Tensor:
    """Let a query at place p see the keys at places 0 to p, or the last ones of them.

    Args:
        places_BT: [B, T] int32 places of the queries in their rows.
        key_count: S; key s stands at place s.
        window: how many keys a query sees at most, its own among them; None for all.
        document_starts_BT: [B, T] int32, the first place that a query sees; None for 0.

    Returns:
        [B, T, S] float32: 0 where visible, a large negative number elsewhere.
    """
    keys_S = ops.arange(key_count).astype(ms.int32)
    batch, tokens = places_BT.shape
    places_BT1 = places_BT.reshape((batch, tokens, 1))
    hidden_BTS = keys_S > places_BT1
    if window is not None:
        hidden_BTS = ops.logical_or(hidden_BTS, keys_S <= places_BT1 - window)
    if document_starts_BT is not None:
        hidden_BTS = ops.logical_or(hidden_BTS, keys_S < document_starts_BT.reshape((-1, tokens, 1)))
    return hidden_BTS.astype(ms.float32) * _HIDDEN_SCORE


class Decoder(nn.Cell):
    """Embedding, blocks and the last norm.

    Attributes:
        row_part: gives the places of a call's tokens in their rows, and the tokens of a row; None where a call has
            whole rows. A program that divides rows puts it here.
    """

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.tok_embeddings = Embedding(config.vocab_size, config.hidden_size)
        self.embedding_scale = config.embedding_scale
        rows = config.learned_positions
        self.position_embeddings = Embedding(rows, config.hidden_size) if rows else None
        self.last_position = rows - 1
        self.row_part: nn.Cell | None = None
        self.angles = None if config.rotary is None else rotary_angles(config.rotary)
        self.alibi = AlibiMask(config.num_heads) if config.alibi else None
        self.embedding_dropout = Dropout(config.embedding_dropout)
        self.layers = nn.CellList(self.blocks(config))
        self.depth = config.num_layers
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
        document_starts_BT: Tensor | None = None,
        tables_BN: Tensor | None = None,
    ) -> tuple[Tensor, Losses]:
        """Hidden states of each token, [B, T, D], and the losses of the blocks with experts, first block first.

        Arguments as in `CausalLanguageModel.hidden`.
        """
        tokens = input_ids_BT.shape[1]
        places_BT = ops.arange(tokens).astype(ms.int32).reshape((1, tokens))
        key_count = tokens
        if self.row_part is not None:
            places_BT, key_count = self.row_part()
        cache_index = None
        if cache is not None:
            assert start_B is not None and tables_BN is not None
            places_BT = places_BT + start_B.reshape((-1, 1))
            key_count = tables_BN.shape[1] * cache.block_size
            cache_index = cache.index(places_BT, tables_BN)
        positions_BT = places_BT if document_starts_BT is None else places_BT - document_starts_BT
        cos_B1TC = None
        sin_B1TC = None
        if self.angles is not None:
            cos_B1TC, sin_B1TC = self.angles(positions_BT, lengths_B)
        is_one_text = cache is None and document_starts_BT is None and self.alibi is None and self.row_part is None
        masks: tuple[Mask, ...] = ()
        for window in self.windows:
            mask = causal_mask(places_BT, key_count, window, document_starts_BT)
            if self.row_part is not None:
                mask = self.row_part.of_queries(mask)
            span = (tokens if window is None else window) if is_one_text else None
            masks = (*masks, (mask if self.alibi is None else self.alibi(mask, places_BT), span))
        x_BTD = self.embedding_dropout(self.embed(input_ids_BT, positions_BT))
        losses: Losses = ()
        # A slice of a CellList would give the parameters other names where operators run one by one.
        for number in range(self.depth):
            mask = masks[self.mask_of_layer[number]]
            x_BTD, found = self.layers[number](x_BTD, cos_B1TC, sin_B1TC, mask, cache, cache_index)
            losses = (*losses, *found)
        return self.norm_out(x_BTD), losses

    def blocks(self, config: DecoderConfig) -> list[DecoderBlock]:
        """The blocks in order; what stands behind the first `depth` ones is used in training only."""
        return [DecoderBlock(config, layer) for layer in range(config.num_layers)]

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
        if self.position_embeddings is None:
            return x_BTD
        # Padding of a step may stand behind the last learned position.
        return x_BTD + self.position_embeddings(ops.minimum(positions_BT, self.last_position))

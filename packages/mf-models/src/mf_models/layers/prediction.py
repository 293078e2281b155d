"""Blocks that predict further tokens in training. Legend: B batch, T tokens, k further ones, U = T - k, D model dim."""

from collections.abc import Callable

import mindspore as ms
from mindspore import Tensor, ops

from mf_models.layers.block import DecoderBlock
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.config import DecoderConfig
from mf_models.layers.decoder import Decoder, causal_mask
from mf_models.layers.linear import Linear
from mf_models.layers.moe import Losses
from mf_models.layers.norm import NORMS


class PredictionBlock(DecoderBlock):
    """A block over hidden states that are joined with the embeddings of tokens further on."""

    def __init__(self, config: DecoderConfig, layer: int):
        """Takes a decoder, and the number of the block, which goes on from those of the decoder."""
        super().__init__(config, layer)
        norm, size = NORMS[config.norm], (config.hidden_size, config.norm_epsilon)
        self.enorm = norm(*size)
        self.hnorm = norm(*size)
        self.eh_proj = Linear(2 * config.hidden_size, config.hidden_size)
        self.shared_head_norm = norm(*size)
        self.concat = ops.Concat(-1)

    def joined(self, embedding_BUD: Tensor, x_BUD: Tensor) -> Tensor:
        """What enters the block, [B, U, D].

        Source: DeepSeek-AI 2024, DeepSeek-V3, equation 21; the order of the halves is that of the published weights.
        """
        return self.eh_proj(self.concat((self.enorm(embedding_BUD), self.hnorm(x_BUD))))


class PredictingDecoder(Decoder):
    """A decoder with blocks for further tokens behind its own."""

    def blocks(self, config: DecoderConfig) -> list[DecoderBlock]:
        """See `Decoder.blocks`."""
        numbers = range(config.num_layers, config.num_layers + config.further_tokens)
        return [*super().blocks(config), *(PredictionBlock(config, number) for number in numbers)]

    def further(
        self, x_BTD: Tensor, input_ids_BT: Tensor, document_starts_BT: Tensor | None
    ) -> tuple[tuple[Tensor, ...], Losses]:
        """Hidden states that predict further tokens.

        Args:
            x_BTD: [B, T, D], hidden states after the last norm.
            input_ids_BT: [B, T] int32.
            document_starts_BT: as for `CausalLanguageModel.hidden`.

        Returns:
            [B, U, D] for k = 1, 2, …, where place t predicts the label of place t + k; and the losses of the blocks'
            experts.
        """
        assert self.angles is not None
        tokens = input_ids_BT.shape[1]
        states: tuple[Tensor, ...] = ()
        losses: Losses = ()
        x_BUD = x_BTD
        for number in range(len(self.layers) - self.depth):
            block = self.layers[self.depth + number]
            count = tokens - number - 1
            places_BU = ops.arange(count).astype(ms.int32).reshape((1, count))
            starts_BU = None if document_starts_BT is None else document_starts_BT[:, :count]
            positions_BU = places_BU if starts_BU is None else places_BU - starts_BU
            cos_B1UC, sin_B1UC = self.angles(positions_BU, None)
            embedding_BUD = self.embed(input_ids_BT[:, number + 1 :], positions_BU)
            joined_BUD = block.joined(embedding_BUD, x_BUD[:, :count])
            mask = (causal_mask(places_BU, count, None, starts_BU), count if starts_BU is None else None)
            x_BUD, found = block(joined_BUD, cos_B1UC, sin_B1UC, mask)
            states = (*states, block.shared_head_norm(x_BUD))
            losses = (*losses, *found)
        return states, losses


class PredictingLanguageModel(CausalLanguageModel):
    """A model that learns to predict further tokens too; nothing of that is used at inference.

    Source: DeepSeek-AI 2024, DeepSeek-V3, section 2.2.
    """

    def __init__(self, config: DecoderConfig):
        super().__init__(config, PredictingDecoder(config))
        self.further_factor = config.further_factor

    def further_losses(
        self,
        hidden_BTD: Tensor,
        input_ids_BT: Tensor,
        labels_BT: Tensor,
        document_starts_BT: Tensor | None,
        token_losses: Callable[[Tensor, Tensor], Tensor],
    ) -> tuple[Tensor, Losses]:
        """What the prediction of further tokens adds to the loss of each label; call it in graph code.

        Added up over all labels and divided by their number, as the losses of next tokens are, this is
        `further_factor` times the mean of equation 25. A token whose label lies in another document adds nothing.

        Args:
            hidden_BTD: [B, T, D], hidden states after the last norm.
            input_ids_BT: [B, T] int32.
            labels_BT: [B, T] int32, the successor of each token.
            document_starts_BT: as for `hidden`.
            token_losses: from logits [B, U, V] and labels [B, U] to losses [B, U].

        Returns:
            [B, T], float32; and the losses of the experts, as from `hidden_and_losses`.
        """
        states, losses = self.model.further(hidden_BTD, input_ids_BT, document_starts_BT)
        added_BT = ops.zeros(labels_BT.shape, ms.float32)
        for number, hidden_BUD in enumerate(states):
            ahead = number + 1
            losses_BU = token_losses(self.head(hidden_BUD), labels_BT[:, ahead:])
            if document_starts_BT is not None:
                is_same_BU = document_starts_BT[:, ahead:] == document_starts_BT[:, :-ahead]
                losses_BU = losses_BU * is_same_BU.astype(ms.float32)
            nothing = ops.zeros((labels_BT.shape[0], ahead), ms.float32)
            added_BT = added_BT + ops.concat((nothing, losses_BU), 1)
        return added_BT * (self.further_factor / len(states)), losses

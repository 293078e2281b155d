"""A decoder with the head that scores next tokens, or classes. Legend: B batch, T tokens, D model dim, V vocabulary."""

import mindspore as ms
from mindspore import Tensor, ops

from mf_models.cache import KvCache
from mf_models.kernels.select import select_kernels
from mf_models.layers.config import DecoderConfig
from mf_models.layers.decoder import Decoder
from mf_models.layers.dropout import connect_dropout
from mf_models.layers.linear import Linear
from mf_models.layers.moe import Losses
from mf_models.layers.norm_head import NormHead
from mf_models.layers.typed import Typed
from mf_models.paged_cache import PagedKvCache


class CausalLanguageModel(Typed):
    """A decoder and the head that scores the next token; families subclass it with their own sizes.

    With `num_labels`, V are classes instead: the scores at the last token of a text are those of the text.

    Attributes:
        loss_names: what the network itself adds to the loss of the tokens in training.
        further_tokens: tokens beyond the next one that are predicted too, in training; above 0 in a
            `layers.prediction.PredictingLanguageModel` alone.
    """

    def __init__(self, config: DecoderConfig, decoder: Decoder | None = None):
        """Takes the sizes, and the decoder where it is one of another class."""
        super().__init__()
        self.model = Decoder(config) if decoder is None else decoder
        head = NormHead if config.normalized_head else Linear
        has_head = not config.tie_word_embeddings and config.num_labels is None
        self.lm_head = head(config.hidden_size, config.vocab_size) if has_head else None
        self.score = None if config.num_labels is None else Linear(config.hidden_size, config.num_labels)
        self.linear = select_kernels().linear
        self.tanh = ops.Tanh()
        self.logit_cap = config.logit_cap if config.num_labels is None else None
        self.initializer_range = config.initializer_range
        self.loss_names = config.loss_names
        self.further_tokens = config.further_tokens
        connect_dropout(self)

    def construct(self, input_ids_BT: Tensor) -> Tensor:
        """Logits of the token that follows each token.

        Args:
            input_ids_BT: [B, T] int32, positions 0 to T - 1.

        Returns:
            [B, T, V], float32.
        """
        return self.head(self.hidden(input_ids_BT))

    def hidden(
        self,
        input_ids_BT: Tensor,
        start_B: Tensor | None = None,
        cache: KvCache | None = None,
        lengths_B: Tensor | None = None,
        document_starts_BT: Tensor | None = None,
        tables_BN: Tensor | None = None,
    ) -> Tensor:
        """Hidden states after the last norm; call it in graph code.

        Args:
            input_ids_BT: [B, T] int32. With a cache, rows may be padded on the right with any valid token: padding
                stands at later positions, so no token sees it before it is overwritten.
            start_B: [B] int32, position of each row's first token; only with a cache.
            cache: holds the tokens before `start_B`, and takes these.
            lengths_B: [B] int32, tokens of each text so far without padding; only positions that are scaled by the
                length of the text look at it.
            document_starts_BT: [B, T] int32, where in its row the document of each token begins: positions count from
                there, and no token sees one before it, so that documents of one row are as if each had its own. None
                where a row is one document; not with a cache.
            tables_BN: [B, N] int32, the cache's blocks of each row, see `KvCache.index`; only with a cache.

        Returns:
            [B, T, D], float32.
        """
        return self.model(input_ids_BT, start_B, cache, lengths_B, document_starts_BT, tables_BN)[0]

    def hidden_and_losses(
        self, input_ids_BT: Tensor, document_starts_BT: Tensor | None = None
    ) -> tuple[Tensor, Losses]:
        """Hidden states, and what the network itself adds to the loss of the tokens; call it in graph code.

        Args:
            input_ids_BT: [B, T] int32.
            document_starts_BT: as for `hidden`.

        Returns:
            [B, T, D], float32; and in training what is to be added to the mean loss of the tokens: for each block that
            adds anything [L], float32, all of them together one number for each of `loss_names`. Where choices of
            experts are counted, `mf_models.expert_choices`, there are counts among them, which are not to be added.
        """
        hidden_BTD, losses = self.model(input_ids_BT, None, None, None, document_starts_BT)
        return hidden_BTD, losses

    def head(self, x_BTD: Tensor) -> Tensor:
        """Logits of hidden states: [..., D] to [..., V] float32; give it only the positions that are needed."""
        if self.score is not None:
            logits = self.score(x_BTD)
        elif self.lm_head is None:
            table_VD = self.converted(self.model.tok_embeddings.embedding_weight)
            logits = self.linear(self.converted(x_BTD), table_VD)
        else:
            logits = self.lm_head(x_BTD)
        if self.compute_type is not None:
            logits = logits.astype(ms.float32)
        return logits if self.logit_cap is None else self.logit_cap * self.tanh(logits / self.logit_cap)

    def new_cache(self, blocks: int, block_size: int) -> KvCache:
        """An empty cache that fits this model.

        Args:
            blocks: blocks that all sequences share, at least 2; one of them belongs to nobody.
            block_size: tokens of a block, at least 1.
        """
        kv_heads, key_dim, value_dim = self.model.layers[0].attention.cache_sizes
        cache: KvCache
        dtype = self.compute_type
        if select_kernels().has_blocks and key_dim == value_dim:
            cache = PagedKvCache(self.model.depth, blocks, block_size, kv_heads, key_dim)
            dtype = dtype or ms.bfloat16
        else:
            cache = KvCache(self.model.depth, blocks, block_size, kv_heads, key_dim, value_dim)
        if dtype is not None:
            for parameter in cache.get_parameters():
                parameter.set_dtype(dtype)
        return cache

"""A decoder with the head that scores the next token. Legend: B batch, T tokens, D model dim, V vocabulary."""

from mindspore import Tensor, nn, ops

from mf_models.cache import KvCache
from mf_models.kernels.select import select_kernels
from mf_models.layers.config import DecoderConfig
from mf_models.layers.decoder import Decoder
from mf_models.layers.linear import Linear


class CausalLanguageModel(nn.Cell):
    """A decoder and the head that scores the next token; families subclass it with their own sizes."""

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.model = Decoder(config)
        self.lm_head = None if config.tie_word_embeddings else Linear(config.hidden_size, config.vocab_size)
        self.linear = select_kernels().linear
        self.tanh = ops.Tanh()
        self.logit_cap = config.logit_cap
        self.initializer_range = config.initializer_range

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
    ) -> Tensor:
        """Hidden states after the last norm; call it in graph code.

        Args:
            input_ids_BT: [B, T] int32. With a cache, rows may be padded on the right with any valid token: padding
                stands at later positions, so no token sees it before it is overwritten.
            start_B: [B] int32, position of each row's first token; only with a cache.
            cache: holds the tokens before `start_B`, and takes these.
            lengths_B: [B] int32, tokens of each text so far without padding; only positions that are scaled by the
                length of the text look at it.

        Returns:
            [B, T, D], float32.
        """
        return self.model(input_ids_BT, start_B, cache, lengths_B)

    def head(self, x_BTD: Tensor) -> Tensor:
        """Logits of hidden states: [..., D] to [..., V]; give it only the positions that are needed."""
        if self.lm_head is None:
            logits = self.linear(x_BTD, self.model.tok_embeddings.embedding_weight)
        else:
            logits = self.lm_head(x_BTD)
        return logits if self.logit_cap is None else self.logit_cap * self.tanh(logits / self.logit_cap)

    def new_cache(self, batch_size: int, max_tokens: int) -> KvCache:
        """An empty cache that fits this model.

        Args:
            batch_size: number of sequences, at least 1.
            max_tokens: most tokens of one sequence, prompt, padding and generated ones together, at least 1.
        """
        attention = self.model.layers[0].attention
        kv_heads = attention.wk.weight.shape[0] // attention.head_dim
        return KvCache(len(self.model.layers), batch_size, kv_heads, max_tokens, attention.head_dim)

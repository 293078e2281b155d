"""Token embedding. Legend: B batch, T tokens, D model dim."""

import mindspore as ms
from mindspore import Parameter, Tensor, ops
from mindspore.common.initializer import initializer

from mf_models.layers.typed import Typed


class Embedding(Typed):
    """A table with one row a token; it starts as zeros (see `mf_models.initializers`)."""

    computed_as, stored_as = "residual", "embedding"

    def __init__(self, vocab_size: int, hidden_size: int):
        super().__init__()
        self.embedding_weight = Parameter(initializer("zeros", (vocab_size, hidden_size), ms.float32))
        self.gather = ops.Gather()

    def construct(self, input_ids_BT: Tensor) -> Tensor:
        """Look up each token.

        Args:
            input_ids_BT: [batch, tokens] int32, each below the number of rows.

        Returns:
            [batch, tokens, hidden_size], what enters the residual stream.
        """
        return self.converted(self.gather(self.embedding_weight, input_ids_BT, 0))

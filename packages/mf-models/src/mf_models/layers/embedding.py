"""Token embedding. Legend: B batch, T tokens, D model dim."""

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer


class Embedding(nn.Cell):
    """A table with one row a token; it starts as zeros (see `mf_models.initializers`)."""

    def __init__(self, vocab_size: int, hidden_size: int):
        super().__init__()
        self.embedding_weight = Parameter(initializer("zeros", (vocab_size, hidden_size), ms.float32))
        self.gather = ops.Gather()

    def construct(self, input_ids_BT: Tensor) -> Tensor:
        """Look up each token.

        Args:
            input_ids_BT: [batch, tokens] int32, each below the number of rows.

        Returns:
            [batch, tokens, hidden_size], float32.
        """
        return self.gather(self.embedding_weight, input_ids_BT, 0)

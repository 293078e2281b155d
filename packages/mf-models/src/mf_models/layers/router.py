"""Which experts each token goes to.

Legend: N tokens, D model dim, E experts, K experts of a token, G groups of experts.
"""

import mindspore as ms
from mindspore import Parameter, Tensor, mint, nn, ops
from mindspore.common.initializer import initializer

from mf_models.layers.linear import Linear
from mf_models.layers.moe_config import MoeConfig

_OUT_OF_REACH = -1e9
"""Score for the choice of an expert that a token must not choose."""

LEAST_SUM = 1e-9
"""Added to a sum of weights before the weights are divided by it: those of a token that no expert kept are all 0."""


class RouterLinear(Linear):
    """The projection to one number for each expert, which computes in a type of its own."""

    computed_as = "router"


class Router(nn.Cell):
    """Scores of all experts, and the choice of the best for each token.

    Source: Jiang et al. 2024, Mixtral of Experts, section 2.1 (softmax); DeepSeek-AI 2024, DeepSeek-V2, section 2.2.2
    (groups of devices); DeepSeek-AI 2024, DeepSeek-V3, equations 13 to 16 (sigmoid, correction of the choice).
    """

    def __init__(self, hidden_size: int, moe: MoeConfig):
        """Takes the width of the residual stream and the way of choosing."""
        super().__init__()
        self.dense = RouterLinear(hidden_size, moe.num_experts)
        self.bias = Parameter(initializer("zeros", (moe.num_experts,), ms.float32)) if moe.corrected else None
        self.softmax = ops.Softmax(-1) if moe.scores == "softmax" else None
        self.sigmoid = ops.Sigmoid()
        self.top = ops.TopK(sorted=True)
        self.moe = moe

    def construct(self, x_ND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Choose.

        Args:
            x_ND: [N, D], float32.

        Returns:
            The experts of each token, best first, [N, K] int32; the scores of all experts, [N, E], from 0 to 1; and
            the outputs of the router that they are made from, [N, E].
        """
        logits_NE = self.dense(x_ND)
        scores_NE = self.sigmoid(logits_NE) if self.softmax is None else self.softmax(logits_NE)
        # The choice has no gradient; the weights of the chosen experts have.
        for_choice_NE = ops.stop_gradient(scores_NE if self.bias is None else scores_NE + self.bias)
        if self.moe.kept_groups < self.moe.groups:
            for_choice_NE = self.within_best_groups(for_choice_NE)
        return self.top(for_choice_NE, self.moe.chosen)[1], scores_NE, logits_NE

    def within_best_groups(self, scores_NE: Tensor) -> Tensor:
        """Scores for the choice, [N, E], with the experts outside the best groups of each token out of reach."""
        tokens, groups = scores_NE.shape[0], self.moe.groups
        in_groups_NGX = scores_NE.reshape((tokens, groups, -1))
        best_NG = self.top(in_groups_NGX, self.moe.best_of_group)[0].sum(-1)
        kept_NQ = self.top(best_NG, self.moe.kept_groups)[1]
        numbers_G = ops.arange(groups).astype(ms.int32)
        kept_NG1 = (kept_NQ.reshape((tokens, -1, 1)) == numbers_G).any(axis=1).reshape((tokens, groups, 1))
        return mint.where(kept_NG1, in_groups_NGX, _OUT_OF_REACH).reshape(scores_NE.shape)

    def weights(self, scores_NE: Tensor, choice_NK: Tensor, kept_NK: Tensor) -> Tensor:
        """How much each chosen expert's result counts.

        Args:
            scores_NE: as from `construct`.
            choice_NK: likewise.
            kept_NK: 1 where the expert takes the token, 0 where it has no room for it, float32.

        Returns:
            [N, K], 0 where the expert has no room.
        """
        weights_NK = ops.gather_elements(scores_NE, 1, choice_NK) * kept_NK
        if self.moe.normalized:
            weights_NK = weights_NK / (weights_NK.sum(-1, keepdims=True) + LEAST_SUM)
        return weights_NK * self.moe.scale

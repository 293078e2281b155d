"""Feed-forward of several experts.

Legend: B batch, T tokens, N = B * T, D model dim, K experts of a token, E experts, X blocks of R rows of one expert.
"""

import math

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer

from mf_models.kernels.expert_linear import expert_blocks
from mf_models.kernels.select import select_kernels
from mf_models.layers.balance import choice_counts, router_losses
from mf_models.layers.linear import Linear
from mf_models.layers.mlp import swiglu_mlp
from mf_models.layers.moe_config import MoeConfig
from mf_models.layers.router import Router
from mf_models.layers.slots import Slots, slots_of_blocks, slots_of_experts
from mf_models.layers.typed import Typed

Losses = tuple[Tensor, ...]
"""What a feed-forward adds to the loss of the tokens: nothing, or one tensor [L] as from `balance.router_losses`.

Behind it, where choices are counted, stands one tensor [E] int32 that is told and not added; see
`mf_models.expert_choices`.
"""


class ExpertLinear(Typed):
    """Projections of all experts, stored [E, out, in]; they start as zeros (see `mf_models.initializers`)."""

    def __init__(self, experts: int, in_features: int, out_features: int):
        super().__init__()
        self.weight = Parameter(initializer("zeros", (experts, out_features, in_features), ms.float32))
        self.linear = select_kernels().expert_linear

    def construct(self, x_XRD: Tensor, expert_X: Tensor | None = None) -> Tensor:
        """[X, R, in] to [X, R, out]; arguments as of `kernels.expert_linear`."""
        return self.linear(self.converted(x_XRD), self.converted(self.weight), expert_X)


class ExpertMlps(nn.Cell):
    """The gated feed-forwards of all experts, as `mlp.swiglu_mlp` is one."""

    def __init__(self, hidden_size: int, moe: MoeConfig):
        """Takes the width of the residual stream, and the number and inner width of the experts."""
        super().__init__()
        self.w1 = ExpertLinear(moe.num_experts, hidden_size, moe.expert_size)
        self.w2 = ExpertLinear(moe.num_experts, moe.expert_size, hidden_size)
        self.w3 = ExpertLinear(moe.num_experts, hidden_size, moe.expert_size)
        self.swiglu = select_kernels().swiglu

    def construct(self, x_XRD: Tensor, expert_X: Tensor | None = None) -> Tensor:
        """[X, R, D] to [X, R, D]; arguments as of `kernels.expert_linear`."""
        return self.w2(self.swiglu(self.w1(x_XRD, expert_X), self.w3(x_XRD, expert_X)), expert_X)


class RoutedExperts(nn.Cell):
    """Each token goes to the experts that its router chooses, and gets the weighed sum of their results.

    Attributes:
        counts_choices: whether a pass in training tells how often each expert is chosen.

    Source: Shazeer et al. 2017, arXiv 1701.06538, section 2; Lepikhin et al. 2020, arXiv 2006.16668, section
    2.2 (capacity).
    """

    def __init__(self, hidden_size: int, moe: MoeConfig):
        """Takes the width of the residual stream, the experts and the way of choosing."""
        super().__init__()
        self.router = Router(hidden_size, moe)
        self.ffn = ExpertMlps(hidden_size, moe)
        self.moe = moe
        self.counts_choices = False
        kernels = select_kernels()
        self.spread_rows = kernels.spread_rows
        self.collect_rows = kernels.collect_rows
        self.block_rows = kernels.expert_block_rows

    def construct(self, x_BTD: Tensor) -> tuple[Tensor, Losses]:
        """Each token by its experts, which in training may have room for a limited number of tokens.

        Args:
            x_BTD: [B, T, D], float32.

        Returns:
            [B, T, D], and in training the losses.
        """
        x_ND = x_BTD.reshape((-1, x_BTD.shape[-1]))
        # The outputs of the router have no name, because the compiler warns of a name that inference does not use.
        routed = self.router(x_ND)
        choice_NK, scores_NE = routed[0], routed[1]
        (slot_NK, kept_NK, choice_S, filled_S), expert_X, blocks = self.slots(choice_NK)
        rows_SD = self.spread_rows(x_ND, choice_S, slot_NK, kept_NK)
        y_XRD = self.ffn(rows_SD.reshape((blocks, -1, rows_SD.shape[-1])), expert_X)
        weight_NK = self.router.weights(scores_NE, choice_NK, kept_NK)
        y_ND = self.collect_rows(y_XRD.reshape(rows_SD.shape), weight_NK, choice_S, filled_S, slot_NK)
        losses: Losses = ()
        if self.training and self.moe.loss_names:
            losses = (router_losses(choice_NK, scores_NE, routed[2], self.moe, x_BTD.shape[0]),)
        if self.training and self.counts_choices:
            losses = (*losses, choice_counts(choice_NK, self.moe.num_experts))
        return y_ND.reshape(x_BTD.shape), losses

    def slots(self, choice_NK: Tensor) -> tuple[Slots, Tensor | None, int]:
        """The slots of all choices, the expert of each block or None where block x is of expert x, and X."""
        tokens, chosen = choice_NK.shape
        experts = self.moe.num_experts
        if self.training and self.moe.capacity_factor > 0:
            capacity = room(tokens, chosen, experts, self.moe.capacity_factor)
            return slots_of_experts(choice_NK, experts, capacity, self.moe.first_token_first), None, experts
        rows = self.block_rows(tokens, chosen, experts)
        if rows == 0:
            return slots_of_experts(choice_NK, experts, tokens), None, experts
        blocks = expert_blocks(tokens, chosen, experts, rows)
        slots, expert_X = slots_of_blocks(choice_NK, experts, rows, blocks)
        return slots, expert_X, blocks


class SharedAndRoutedExperts(nn.Cell):
    """Routed experts, and one more that every token goes to, whose result may have a gate.

    Source: Dai et al. 2024, DeepSeekMoE, section 3.2; the gate is that of Qwen Team 2024, Qwen1.5-MoE.
    """

    def __init__(self, hidden_size: int, moe: MoeConfig):
        """Takes the width of the residual stream, the experts and the way of choosing."""
        super().__init__()
        self.routed_experts = RoutedExperts(hidden_size, moe)
        self.shared_experts = swiglu_mlp(hidden_size, moe.shared_size)
        self.shared_experts_gate = Linear(hidden_size, 1) if moe.shared_gate else None
        self.sigmoid = ops.Sigmoid()

    def construct(self, x_BTD: Tensor) -> tuple[Tensor, Losses]:
        """As `RoutedExperts.construct`."""
        routed_BTD, losses = self.routed_experts(x_BTD)
        shared_BTD = self.shared_experts(x_BTD)
        if self.shared_experts_gate is not None:
            shared_BTD = shared_BTD * self.sigmoid(self.shared_experts_gate(x_BTD))
        return routed_BTD + shared_BTD, losses


def expert_feed_forward(hidden_size: int, moe: MoeConfig) -> nn.Cell:
    """The feed-forward of a block with experts: a cell `x_BTD -> (y_BTD, losses)`."""
    return SharedAndRoutedExperts(hidden_size, moe) if moe.shared_size else RoutedExperts(hidden_size, moe)


@ops.constexpr
def room(tokens: int, chosen: int, experts: int, capacity_factor: float) -> int:
    """Most tokens of an expert: `capacity_factor` even shares of all choices, but no more than there are tokens.

    Source: Lepikhin et al. 2020, arXiv 2006.16668, section 2.2; rounded up as in MindFormers 1.3, moe.py.
    """
    return min(tokens, math.ceil(chosen * tokens * capacity_factor / experts))

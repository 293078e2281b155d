"""Says how what enters a stage of a pipeline is divided. Legend: B batch, T tokens, D model dim."""

from collections.abc import Iterable
from typing import Any

from mindspore import Tensor, nn, ops

from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.moe import Losses
from mf_models.sharded.attach import Shares
from mf_parallel.plan import ParallelPlan


class EnteredBlock(nn.Cell):
    """A block, before which an operator of that block's stage stands that has a strategy.

    Without one the compiler does not know how hidden states are divided that another stage has sent, and gathers them.
    """

    def __init__(self, block: nn.Cell, shares: Shares):
        """Takes the block, whose parameters keep their names, and how many ranks share what."""
        super().__init__(auto_prefix=False)
        self.block = block
        self.pipeline_stage = block.pipeline_stage
        self.enter = ops.Identity()
        self.enter.shard(((shares.rows, shares.tokens // shares.rows, 1),))

    def construct(self, x_BTD: Tensor, *context: Any) -> tuple[Tensor, Losses]:
        """As `mf_models.layers.block.DecoderBlock.construct`."""
        found: tuple[Tensor, Losses] = self.block(self.enter(x_BTD), *context)
        return found


def mark_entries(model: CausalLanguageModel, plan: ParallelPlan, places: Iterable[int]) -> None:
    """Let some blocks be the first ones of their stage.

    Args:
        model: has its strategies and stages already.
        plan: the layout of its parameters.
        places: of the blocks among those of the network.
    """
    for place in places:
        layers = model.model.layers
        layers[place] = EnteredBlock(layers[place], Shares.of(plan))

"""What MindSpore compiles of the parts of a pipeline stage.

A graph can't hand over what a backward pass needs of its forward pass, so the backward graph of a part computes both;
the forward graph only makes what the next part takes.

Legend: B rows, T tokens, D model dim.
"""

from mindspore import ParameterTuple, Tensor, mint, nn, ops

from mf_models.graph_cache import KeptGraph
from mf_train.step.graphs import LossSum, Sums


class PartForward(KeptGraph):
    """A part of the network that others follow."""

    def __init__(self, network: nn.Cell, leave: nn.Cell):
        """Takes the part, see `mf_models.network_part`, and the border cell that makes hidden states whole."""
        super().__init__(auto_prefix=False)
        self.network = network
        self.leave = leave

    def construct(self, x: Tensor, document_starts_BT: Tensor | None) -> Tensor:
        """Hidden states behind the part, [B, T, D].

        Args:
            x: ids [B, T] for the first part, else hidden states [B, T, D].
            document_starts_BT: [B, T], or None.
        """
        return self.leave(self.network.hidden_and_losses(x, document_starts_BT)[0])


class _PartLoss(nn.Cell):
    """A scalar with the gradients of the loss: hidden states times what came back for them, and what the part adds."""

    def __init__(self, network: nn.Cell, leave: nn.Cell):
        super().__init__(auto_prefix=False)
        self.network = network
        self.leave = leave

    def construct(
        self,
        x: Tensor,
        gradient_BTD: Tensor,
        weights_BT: Tensor,
        document_starts_BT: Tensor | None,
        scale: Tensor,
    ) -> Tensor:
        hidden_BTD, added = self.network.hidden_and_losses(x, document_starts_BT)
        total = (self.leave(hidden_BTD) * gradient_BTD).sum()
        for added_L in added:
            total = total + added_L.sum() * weights_BT.sum() * scale
        return total


class PartBackward(KeptGraph):
    """Adds the gradients of a part that others follow to the sums."""

    def __init__(
        self,
        forward: PartForward,
        parameters: ParameterTuple,
        positions: tuple[int, ...],
        sums: Sums,
        takes_ids: bool,
    ):
        """Fixes everything but the data.

        Args:
            forward: the part.
            parameters: those that it uses.
            positions: theirs among those of the sums.
            sums: where gradients add up.
            takes_ids: whether the part is the first.
        """
        super().__init__(auto_prefix=False)
        self.add = sums.adder(positions)
        self.takes_ids = takes_ids
        loss = _PartLoss(forward.network, forward.leave)
        self.differentiate = ops.value_and_grad(loss, None if takes_ids else 0, parameters)

    def construct(
        self,
        x: Tensor,
        gradient_BTD: Tensor,
        weights_BT: Tensor,
        document_starts_BT: Tensor | None,
        scale: Tensor,
        is_first: Tensor,
    ) -> Tensor:
        """The gradient of `x`, [B, T, D]; of ids there is none, and the result says nothing.

        Args:
            x: ids [B, T] for the first part, else hidden states [B, T, D].
            gradient_BTD: of the part's result, [B, T, D].
            weights_BT: [B, T] float32.
            document_starts_BT: [B, T], or None.
            scale: [], loss scale.
            is_first: bool [], whether the sums begin anew.
        """
        loss, found = self.differentiate(x, gradient_BTD, weights_BT, document_starts_BT, scale)
        if self.takes_ids:
            self.add(found, is_first)
            return loss
        self.add(found[1], is_first)
        return found[0]


class LastPartBackward(KeptGraph):
    """Adds loss, tokens and gradients of the part that ends with the loss to the sums."""

    def __init__(self, loss_sum: LossSum, parameters: ParameterTuple, positions: tuple[int, ...], sums: Sums):
        """Takes the loss of the part, its parameters, their positions among those of the sums, and the sums."""
        super().__init__(auto_prefix=False)
        self.sums = sums
        self.add = sums.adder(positions)
        self.differentiate = ops.value_and_grad(loss_sum, 0, parameters, has_aux=True)

    def construct(
        self,
        x_BTD: Tensor,
        labels_BT: Tensor,
        weights_BT: Tensor,
        document_starts_BT: Tensor | None,
        scale: Tensor,
        is_first: Tensor,
    ) -> Tensor:
        """The gradient of `x_BTD`, [B, T, D].

        Args:
            x_BTD: hidden states.
            labels_BT: [B, T] int32.
            weights_BT: [B, T] float32.
            document_starts_BT: [B, T], or None.
            scale: [], loss scale.
            is_first: bool [], whether the sums begin anew.
        """
        (_, loss_sum, _), (x_gradient, gradients) = self.differentiate(
            x_BTD, labels_BT, weights_BT, document_starts_BT, scale
        )
        self.add(gradients, is_first)
        tokens = weights_BT.sum()
        ops.assign(self.sums.tokens, mint.where(is_first, tokens, self.sums.tokens + tokens))
        ops.assign(self.sums.loss, mint.where(is_first, loss_sum, self.sums.loss + loss_sum))
        return x_gradient

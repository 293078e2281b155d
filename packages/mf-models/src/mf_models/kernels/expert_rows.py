"""Rows of tokens to the slots of their experts and back, by gathering only.

Legend: N tokens, K experts of a token, S slots of all experts, D model dim. Choice c is that of token c // K; slots
that no choice fills belong to choice 0 and count 0. Rows may be of any float type; what weighs them is float32.
"""

from mindspore import Tensor, nn, ops

_gather = ops.Gather()
_zeros_like = ops.ZerosLike()


class _Spread(nn.Cell):
    """Automatic gradients would scatter rows one by one; each token finds its slots instead."""

    def construct(self, x_ND: Tensor, choice_S: Tensor, slot_NK: Tensor, kept_NK: Tensor) -> Tensor:
        """See `spread_rows`."""
        return _gather(x_ND, choice_S // slot_NK.shape[1], 0)

    def bprop(
        self, x_ND: Tensor, choice_S: Tensor, slot_NK: Tensor, kept_NK: Tensor, out: Tensor, dout_SD: Tensor
    ) -> tuple[Tensor, ...]:
        """Gradient of the tokens, [N, D]; the others take none."""
        dx_NKD = _gather(dout_SD, slot_NK, 0) * kept_NK.reshape((*kept_NK.shape, 1))
        return dx_NKD.sum(1).astype(x_ND.dtype), _zeros_like(choice_S), _zeros_like(slot_NK), _zeros_like(kept_NK)


class _Collect(nn.Cell):
    """Likewise: each slot finds its token."""

    def construct(self, y_SD: Tensor, weight_NK: Tensor, choice_S: Tensor, filled_S: Tensor, slot_NK: Tensor) -> Tensor:
        """See `collect_rows`."""
        return (_gather(y_SD, slot_NK, 0) * weight_NK.reshape((*weight_NK.shape, 1))).sum(1).astype(y_SD.dtype)

    def bprop(
        self,
        y_SD: Tensor,
        weight_NK: Tensor,
        choice_S: Tensor,
        filled_S: Tensor,
        slot_NK: Tensor,
        out: Tensor,
        dout_ND: Tensor,
    ) -> tuple[Tensor, ...]:
        """Gradients of the rows, [S, D], and of the weights, [N, K]; the others take none."""
        tokens, chosen = slot_NK.shape
        dweight_NK = (_gather(y_SD, slot_NK, 0) * dout_ND.reshape((tokens, 1, -1))).sum(-1).astype(weight_NK.dtype)
        weight_S = _gather(weight_NK.reshape((-1,)), choice_S, 0) * filled_S
        dy_SD = (_gather(dout_ND, choice_S // chosen, 0) * weight_S.reshape((-1, 1))).astype(y_SD.dtype)
        return dy_SD, dweight_NK, _zeros_like(choice_S), _zeros_like(filled_S), _zeros_like(slot_NK)


_spread = _Spread()
_collect = _Collect()


def spread_rows(x_ND: Tensor, choice_S: Tensor, slot_NK: Tensor, kept_NK: Tensor) -> Tensor:
    """Copy each token's row to the slots of its experts.

    Args:
        x_ND: [N, D].
        choice_S: [S] int32, the choice that fills each slot.
        slot_NK: [N, K] int32, the slot of each choice; any for a choice that has none.
        kept_NK: [N, K] float32, 1 where the choice has a slot, else 0.

    Returns:
        [S, D]; slots that no choice fills hold some token's row.
    """
    result: Tensor = _spread(x_ND, choice_S, slot_NK, kept_NK)
    return result


def collect_rows(y_SD: Tensor, weight_NK: Tensor, choice_S: Tensor, filled_S: Tensor, slot_NK: Tensor) -> Tensor:
    """Add up the results of each token's experts.

    Args:
        y_SD: [S, D], results of the experts.
        weight_NK: [N, K], how much each counts; 0 for a choice without a slot.
        choice_S: [S] int32, the choice that fills each slot.
        filled_S: [S] float32, 1 where a choice fills the slot, else 0.
        slot_NK: [N, K] int32, the slot of each choice; any for a choice that has none.

    Returns:
        [N, D].
    """
    result: Tensor = _collect(y_SD, weight_NK, choice_S, filled_S, slot_NK)
    return result

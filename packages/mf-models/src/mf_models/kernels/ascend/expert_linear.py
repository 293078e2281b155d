"""Matrix products with the weights of many experts by GroupedMatmul.

Legend as in `mf_models.kernels.expert_linear`; M = X * R rows.
"""

import mindspore as ms
from mindspore import Tensor, ops
from mindspore.ops.auto_generate import GroupedMatmul

_matmul = GroupedMatmul(split_item=3, group_type=0)


@ops.constexpr
def expert_block_rows(_tokens: int, _chosen: int, _experts: int) -> int:
    """As `mf_models.kernels.expert_linear.expert_block_rows`: always 1, as the operator takes groups of any size."""
    return 1


def expert_linear(x_XRD: Tensor, weight_EFD: Tensor, expert_X: Tensor | None = None) -> Tensor:
    """As `mf_models.kernels.expert_linear.expert_linear`; [X, R, D] to [X, R, F]."""
    blocks, rows, width = x_XRD.shape
    if expert_X is None:
        expert_X = ops.arange(blocks)
    # Blocks are in the order of their experts, so the group of expert e ends where later experts begin.
    experts_E1 = ops.arange(weight_EFD.shape[0]).reshape((-1, 1))
    end_E = (expert_X.reshape((1, -1)) <= experts_E1).astype(ms.int32).sum(1).astype(ms.int64) * rows
    # The operator can't transpose by itself where gradients are wanted.
    weight_EDF = weight_EFD.transpose((0, 2, 1))
    (y_MF,) = _matmul([x_XRD.reshape((-1, width))], [weight_EDF], None, None, None, None, None, end_E)
    return y_MF.reshape((blocks, rows, -1))

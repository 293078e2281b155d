"""Weights in float32 beside those of 16 bits, so that small changes add up.

Source: Micikevicius et al. 2018, Mixed Precision Training, section 3.1.
"""

import mindspore as ms
from mindspore import Parameter, Tensor, mint

from mf_train.step.state_tensors import state_tensor

MASTER = "master"
"""Slot of the optimizer's state under which they are saved."""


def has_master(weight: Parameter) -> bool:
    """Whether a weight is too coarse to be changed by itself."""
    return bool(weight.dtype != ms.float32)


def master_of(weight: Parameter) -> Parameter:
    """Room for the weight in float32; `renewed` fills it before each update."""
    return state_tensor(weight, MASTER, tuple(weight.shape))


def renewed(master: Tensor, weight: Tensor) -> Tensor:
    """What an update changes, in graph code: the master where it rounds to the weight, else the weight itself.

    So whatever filled the weights since the last update, a checkpoint or the first draw, needs to know of no master.

    Args:
        master: any shape, float32.
        weight: shaped like it, of any float type.

    Returns:
        Shaped like them, float32.
    """
    if weight.dtype == ms.float32:
        return weight
    wide = weight.astype(ms.float32)
    return mint.where(master.astype(weight.dtype).astype(ms.float32) == wide, master, wide)

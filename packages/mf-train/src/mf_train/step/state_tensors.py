"""The tensors that an optimizer keeps of a parameter."""

import mindspore as ms
from mindspore import Parameter
from mindspore.common.initializer import initializer


def state_tensor(parameter: Parameter, kind: str, shape: tuple[int, ...], first_value: float = 0.0) -> Parameter:
    """One such tensor, float32.

    One shaped like its parameter is a clone of it: by this MindSpore's own parallelism knows that both are divided
    alike.

    Args:
        parameter: the parameter.
        kind: what the name begins with, such as `adam_m`.
        shape: shape of the tensor.
        first_value: what each element is before the first update.
    """
    name = f"{kind}.{parameter.name}"
    if shape != tuple(parameter.shape):
        return Parameter(initializer(first_value, shape, ms.float32), name=name)
    state = parameter.clone("zeros")
    state.name = name
    state.set_dtype(ms.float32)
    if first_value:
        state.set_data(initializer(first_value, shape, ms.float32))
    return state

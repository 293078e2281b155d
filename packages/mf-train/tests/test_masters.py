"""Weights of 16 bits: they change by less than their own steps, because float32 is kept beside them."""

from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor, nn

from mf_models.kernels import select_kernels
from mf_train.optimizers.adamw import AdamW
from mf_train.optimizers.fp32_state_adam_weight_decay import FP32StateAdamWeightDecay
from mf_train.step.update import ParameterUpdate

pytestmark = pytest.mark.usefixtures("graph_mode")

RATE = 1e-5
"""Far below the distance of neighbouring float16 numbers around 1, 2**-10."""


class Steps(nn.Cell):
    """Updates one weight by gradients of 1."""

    def __init__(self, section: Any, weight: Parameter):
        super().__init__(auto_prefix=False)
        self.update = ParameterUpdate([weight], section.rule(select_kernels()), 0.0)

    def construct(self, gradient: Tensor, number: Tensor, rate: Tensor) -> Any:
        return self.update((gradient,), number, rate)

    def do(self, updates: int, rate: float) -> dict[str, dict[str, Parameter]]:
        """The optimizer's state after some updates."""
        gradient = Tensor(np.ones(self.update.parameters[0].shape, np.float32))
        for number in range(1, updates + 1):
            self(gradient, Tensor(float(number), ms.float32), Tensor(rate, ms.float32))
        return self.update.slots


def weight_of(values: Any, dtype: Any) -> Parameter:
    return Parameter(Tensor(np.array(values, np.float32), dtype), name="w")


@pytest.mark.parametrize("section", [AdamW(), FP32StateAdamWeightDecay()])
def test_small_updates_add_up_as_in_float32(section: Any) -> None:
    start = [[1.0, -2.0], [0.5, 0.0]]
    narrow, wide = weight_of(start, ms.float16), weight_of(start, ms.float32)
    master = Steps(section, narrow).do(80, RATE)["master"]["w"].asnumpy()
    Steps(section, wide).do(80, RATE)
    np.testing.assert_array_equal(master, wide.asnumpy())
    np.testing.assert_array_equal(narrow.asnumpy(), master.astype(np.float16))
    # Each of the updates alone is rounded away.
    assert np.array_equal(np.float16(1.0 - RATE), np.float16(1.0))
    assert narrow.asnumpy()[0, 0] < 1.0


def test_the_optimizer_keeps_nothing_of_16_bits() -> None:
    slots = Steps(AdamW(), weight_of([[1.0]], ms.float16)).do(1, RATE)
    assert {state.dtype for slot in slots.values() for state in slot.values()} == {ms.float32}
    assert "master" not in Steps(AdamW(), weight_of([[1.0]], ms.float32)).do(1, RATE)


def test_weights_that_were_filled_since_win_over_their_masters() -> None:
    weight = weight_of([[1.0, 2.0]], ms.float16)
    steps = Steps(AdamW(), weight)
    master = steps.do(1, 0.0)["master"]["w"]
    master.set_data(Tensor(np.array([[1.0001, 2.0001]], np.float32)))
    weight.set_data(Tensor(np.array([[1.0, 5.0]], np.float16)))
    steps.do(1, 0.0)
    np.testing.assert_array_equal(master.asnumpy(), np.array([[1.0001, 5.0]], np.float32))

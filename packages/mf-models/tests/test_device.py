import mindspore as ms
import pytest

from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_models.device import prepare


def test_the_mode_is_set_however_often_it_is_asked_for() -> None:
    assert ms.Tensor([1.0]).asnumpy()[0] == 1.0
    for _ in range(2):
        prepare(ContextSection(device_target="CPU"))
    assert ms.get_context("mode") == ms.GRAPH_MODE
    assert ms.get_context("device_target") == "CPU"


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match=r"^context\.device_target: Ascend can't be used here: "):
        prepare(ContextSection(device_target="Ascend"))
    assert ms.get_context("device_target") == "CPU"

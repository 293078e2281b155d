import shutil
from pathlib import Path

import mindspore as ms
import pytest

from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_models.device import prepare
from mf_parallel.simulation import simulate


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


@pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in for CANN needs a C compiler")
def test_settings_of_ascend_are_handed_over() -> None:
    found = simulate("prepare_ascend:settings", {}, search_path=[Path(__file__).parent / "programs"])
    assert found == {
        "device_target": "Ascend",
        "jit_level": "O1",
        "deterministic": "ON",
        "kernels": "mf_models.kernels.ascend.attention",
        "set_memory": [{"increase_size": "2GB", "max_size": "58GB", "optimize_level": "O1"}],
        "precision_mode": ["must_keep_origin_dtype"],
    }

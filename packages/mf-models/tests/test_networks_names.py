"""Parameters keep their names, whichever mode a network runs in."""

from collections.abc import Iterator

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from mf_models.families.llama import LlamaConfig
from mf_models.networks import build, parameters


@pytest.fixture
def one_by_one() -> Iterator[None]:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=ms.GRAPH_MODE)


def test_operators_that_run_one_by_one_rename_nothing(one_by_one: None) -> None:
    network = build(LlamaConfig(hidden_size=8, num_layers=2, num_heads=2, vocab_size=16, seq_length=8))
    names = list(parameters(network))
    network(Tensor(np.zeros((1, 4), np.int32)))
    assert list(parameters(network)) == names

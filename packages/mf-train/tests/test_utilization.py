"""The model FLOPs utilization against operations counted by hand."""

from pathlib import Path

import pytest

from mf_config import decode, load
from mf_train.records.utilization import Utilization

SPEED = 1e6
PEAK = 0.3e12
"""Of the card of a CPU."""


def test_operations_of_a_token_over_those_of_all_devices(run_file: Path) -> None:
    width, inner, vocabulary, length = 16, 24, 320, 12
    matrices = 4 * width * width + 3 * width * inner + vocabulary * width
    # A query meets 6.5 keys on average, once for its score and once for the values.
    attention = (length + 1) / 2 * 2 * width
    wanted = SPEED * 6 * (matrices + attention) / PEAK
    config = decode(load(str(run_file)))
    assert Utilization(config, 1).at(SPEED) == pytest.approx(wanted)
    assert Utilization(config, 2).at(SPEED) == pytest.approx(wanted / 2)


def test_adapters_take_less_than_anyone_counts(run_file: Path) -> None:
    adapted = "model.model_config.pet_config={pet_type: lora, target_modules: .*wq}"
    assert Utilization(decode(load(str(run_file), [adapted])), 1).at(SPEED) is None

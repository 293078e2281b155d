from collections.abc import Callable

import pytest

from mf_config.decoding import decode
from mf_config.document import load
from mf_config.sections.context import ContextSection
from mf_config.sections.run import RunConfig


@pytest.fixture
def decoded(write: Callable[..., str], toys: None, train_file: str) -> Callable[..., RunConfig]:
    """Decodes the small training run with overrides."""
    return lambda *overrides: decode(load(write(train_file), overrides))


@pytest.mark.parametrize(
    ("override", "count"), [("metric=None", 0), ("metric={type: ToyMetric}", 1), ("metric=[{type: ToyMetric}]", 1)]
)
def test_metrics_are_a_list_however_they_are_written(
    decoded: Callable[..., RunConfig], override: str, count: int
) -> None:
    assert [type(metric).__name__ for metric in decoded(override).metrics] == ["ToyMetric"] * count


@pytest.mark.parametrize(
    ("override", "prompts"), [("input_data=", ()), ("input_data=hello", ("hello",)), ("input_data=[a, b]", ("a", "b"))]
)
def test_prompts_are_a_list_however_they_are_written(
    decoded: Callable[..., RunConfig], override: str, prompts: tuple[str, ...]
) -> None:
    assert decoded(override).prompts == prompts


@pytest.mark.parametrize(("mode", "is_graph"), [(0, True), ("GRAPH_MODE", True), (1, False), ("PYNATIVE_MODE", False)])
def test_both_spellings_of_the_mode(mode: str, is_graph: bool) -> None:
    assert ContextSection(mode=mode).is_graph_mode is is_graph  # type: ignore[arg-type]

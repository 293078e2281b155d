from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from mf_config.describe import describe_range, describe_type
from mf_config.schema import ComponentOf, Key, key


@dataclass(frozen=True)
class Section:
    size: int = key("Size.", 1)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "an integer"),
        (float, "a number"),
        (bool, "True, False"),
        (str, "text"),
        (Any, "a value"),
        (int | None, "an integer"),
        (str | tuple[str, ...] | None, "text or a list of texts"),
        (Literal[0, 1, "GRAPH_MODE"], "0, 1, GRAPH_MODE"),
        (tuple[int, ...], "a list of integers"),
        (tuple[Any, ...], "a list"),
        (tuple[Section, ...], "a list of sections"),
        (Section, "a section"),
        (dict[str, int], "a section"),
        (Annotated[Any, ComponentOf("optimizer")], "a section with type: ToyAdam, ToySgd, toy_adam"),
        (tuple[Annotated[Any, ComponentOf("metric")], ...], "a list of sections with type: ToyMetric"),
        (Annotated[Any, ComponentOf("nobody")], "a section with type: nobody"),
    ],
)
def test_a_type_in_words(toys: None, annotation: Any, words: str) -> None:
    assert describe_type(annotation) == words


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({}, ""),
        ({"minimum": 0}, "from 0"),
        ({"minimum": 1, "maximum": 4096}, "from 1, up to 4096"),
        ({"above": 0, "maximum": 0.5}, "above 0, up to 0.5"),
        ({"maximum": 2**31 - 1}, "up to 2147483647"),
    ],
)
def test_a_range_in_words(limits: dict[str, float], words: str) -> None:
    assert describe_range(Key(doc="", **limits)) == words  # type: ignore[arg-type]

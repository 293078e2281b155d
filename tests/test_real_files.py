"""The published run configurations, read in place: every error in them is a real one, listed in docs/real-files.md.

Skipped where MF_REAL_CONFIGS doesn't name a folder of them.
"""

import os
import re
from pathlib import Path

import pytest

from mf_config import examine, load
from mf_config.nodes import Mapping, Node, Scalar
from mf_config.problems import Problem, errors_in

FOLDER = os.environ.get("MF_REAL_CONFIGS", "")
PAGE = Path(__file__).parent.parent / "docs" / "real-files.md"
ROW = re.compile(r"^\| `(?P<file>[^`]+)` \| (?P<line>\d+) \| `(?P<path>[^`]+)` \|", re.MULTILINE)

pytestmark = pytest.mark.skipif(not FOLDER, reason="MF_REAL_CONFIGS names no folder of published configurations")


@pytest.fixture(scope="module")
def problems() -> dict[str, tuple[Problem, ...]]:
    """What is said of each file."""
    return {path.name: examine(load(path)).problems for path in sorted(Path(FOLDER).glob("*.yaml"))}


def test_every_error_is_a_listed_one(problems: dict[str, tuple[Problem, ...]]) -> None:
    listed = {(row["file"], int(row["line"]), row["path"]) for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))}
    found = {(name, error.location.line, error.path) for name, said in problems.items() for error in errors_in(said)}
    assert found == listed
    assert f"{len(problems)} run configurations" in PAGE.read_text(encoding="utf-8")


def test_numbers_without_a_dot_are_numbers() -> None:
    values = []
    for path in sorted(Path(FOLDER).glob("*.yaml")):
        document = load(path)
        if any(
            key.endswith("layernorm_epsilon") and scalar.text == "1e-5" for key, scalar in scalars(document.root, "")
        ):
            config = examine(document).config
            assert config is not None
            values.append(config.model.model_config.layernorm_epsilon)
    assert values == [1e-5] * 14


def scalars(node: Node, path: str) -> list[tuple[str, Scalar]]:
    """Every scalar of a document with its path."""
    if isinstance(node, Scalar):
        return [(path, node)]
    children = node.entries.items() if isinstance(node, Mapping) else enumerate(node.items)
    return [found for name, child in children for found in scalars(child, f"{path}.{name}")]

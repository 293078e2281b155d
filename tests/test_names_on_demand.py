"""The names that packages offer on demand: type checkers, programs and `import *` are told the same."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = sorted(
    path
    for path in Path(__file__).parent.parent.glob("packages/*/src/*/__init__.py")
    if "on_demand" in path.read_text()
)


def told_to_type_checkers(source: str) -> Iterator[tuple[str, str]]:
    """Each name that is imported only for them, and where it comes from, as `_HOMES` writes it."""
    for block in ast.walk(ast.parse(source)):
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            for line in block.body:
                assert isinstance(line, ast.ImportFrom)
                for one in line.names:
                    assert one.asname, f"{one.name} is no public name without `as {one.name}`"
                    yield one.asname, f"{line.module}" if one.name == one.asname else f"{line.module}:{one.name}"


@pytest.mark.parametrize("path", PACKAGES, ids=[path.parent.name for path in PACKAGES])
def test_the_three_lists_of_a_package_agree(path: Path):
    package = import_module(path.parent.name)
    assert dict(told_to_type_checkers(path.read_text(encoding="utf-8"))) == package._HOMES
    assert len(package.__all__) == len(set(package.__all__))
    assert set(package.__all__) == set(package._HOMES)


def test_a_package_is_found() -> None:
    assert "mf_config" in [path.parent.name for path in PACKAGES]

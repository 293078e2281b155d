"""The repository's Python files, read and parsed once, and the shape in which every measure reports."""

import ast
import configparser
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

HOST_PACKAGES, HOST_MODULES = "host-packages", "host-modules"
"""Contracts of `.importlinter` whose source packages, and whose source modules alone, never load mindspore."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file.

    Attributes:
        path: relative to the repository.
        module: dotted name; that of the package for an `__init__.py`; empty outside `packages/*/src`.
        text: the file's content.
    """

    path: Path
    module: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text, str(self.path))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, parents before their children."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def lines(self) -> list[str]:
        """The file's lines."""
        return self.text.splitlines()

    @property
    def package(self) -> str:
        """Name of the package that the module stands in, the base of its relative imports."""
        return self.module if self.path.name == "__init__.py" else self.module.rpartition(".")[0]

    @property
    def distribution(self) -> str:
        """Import name of the wheel that ships the module, for example `mf_config`."""
        return self.module.partition(".")[0]

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        return (node for node in self.nodes if isinstance(node, Function))

    def at(self, node: ast.AST, what: str) -> str:
        """`path:line what`, for a list of offenders."""
        return f"{self.path}:{getattr(node, 'lineno', 1)} {what}"


@dataclass(frozen=True)
class Repository:
    """The parsed repository.

    Attributes:
        modules: what the wheels ship.
        tests: the packages' tests and those at the root.
        tools: what stands outside the wheels: `noxfile.py` and `tools/`.
        host_only: names and patterns of the modules that never load mindspore.
    """

    modules: tuple[Source, ...]
    tests: tuple[Source, ...]
    tools: tuple[Source, ...]
    host_only: tuple[str, ...]

    @cached_property
    def by_name(self) -> dict[str, Source]:
        """Module name to its source."""
        return {source.module: source for source in self.modules}

    def host_only_modules(self) -> list[Source]:
        """The modules that a name or pattern of `host_only` covers."""
        covered = re.compile("|".join(map(_pattern, self.host_only)) or "(?!)")
        return [source for source in self.modules if covered.fullmatch(source.module)]


@dataclass(frozen=True)
class Measure:
    """One measured criterion.

    Attributes:
        number: its place among the fifteen.
        name: what is measured.
        value: the figures.
        points: 0, 1 or 2.
        offenders: what costs points, as `path:line what`.
        violations: those offenders that fail `--check`.
    """

    number: int
    name: str
    value: str
    points: int
    offenders: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()


def read_repository(root: Path) -> Repository:
    """Read and parse every Python file below `root` that belongs to the project.

    Args:
        root: folder of the repository.
    Returns:
        The files, sorted by path.
    Raises:
        SyntaxError: a file does not parse.
    """
    packages = sorted(root.glob("packages/*"))
    return Repository(
        modules=tuple(_sources(root, packages, "src")),
        tests=tuple(_sources(root, [*packages, root], "tests")),
        tools=tuple(_tool_sources(root)),
        host_only=tuple(read_host_only(root / ".importlinter")),
    )


def read_host_only(contracts: Path) -> list[str]:
    """Names and patterns (`*` for one part, `**` for any number) of the modules that never load mindspore.

    Args:
        contracts: the `.importlinter` file, the one place where they are listed.
    Returns:
        The entries in the file's order, those of a whole package with all that lies below it; none without the file.
    """
    parser = configparser.ConfigParser()
    parser.read(contracts, encoding="utf-8")

    def entries(contract: str) -> list[str]:
        return parser.get(f"importlinter:contract:{contract}", "source_modules", fallback="").split()

    packages = [pattern for entry in entries(HOST_PACKAGES) for pattern in (entry, f"{entry}.**")]
    return packages + entries(HOST_MODULES)


def share(part: int, whole: int) -> float:
    """Percentage of `part` in `whole`, 100 where there is nothing to count."""
    return 100.0 * part / whole if whole else 100.0


def _sources(root: Path, owners: Iterable[Path], folder: str) -> Iterator[Source]:
    for owner in owners:
        base = owner / folder
        for path in sorted(base.rglob("*.py")):
            yield _source(root, path, ".".join(path.relative_to(base).with_suffix("").parts) if folder == "src" else "")


def _tool_sources(root: Path) -> Iterator[Source]:
    for path in [*sorted(root.glob("*.py")), *sorted(root.glob("tools/**/*.py"))]:
        yield _source(root, path, "")


def _source(root: Path, path: Path, module: str) -> Source:
    name = module.removesuffix(".__init__")
    return Source(path.relative_to(root), name, path.read_text(encoding="utf-8"))


def _pattern(entry: str) -> str:
    parts = {"*": r"[^.]+", "**": r".+"}
    return r"\.".join(parts.get(part, re.escape(part)) for part in entry.split("."))

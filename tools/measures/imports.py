"""Imports: cycles, imports hidden in functions, modules that must not load mindspore, private names from afar."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from measures.source import Function, Measure, Repository, Source

FRAMEWORK = "mindspore"
PREFIX = "mf_"


def cycles(repository: Repository) -> Measure:
    """Criterion 1: groups of modules that import each other at import time, and imports inside functions."""
    graph = {
        source.module: {target for target in _targets(source, repository) if target in repository.by_name}
        - {source.module}
        for source in repository.modules
    }
    rings = tuple("import cycle: " + " ".join(sorted(ring)) for ring in find_rings(graph))
    local = tuple(
        source.at(node, "import inside a function") for source in repository.modules for node in _local_imports(source)
    )
    points = 0 if rings else 2 if len(local) <= 3 else 1
    return Measure(1, "import cycles", f"{len(rings)} cycles, {len(local)} local imports", points, rings + local, rings)


def host_only(repository: Repository) -> Measure:
    """Criterion 8: host-only modules that reach mindspore along imports that run when they are imported."""
    checked = repository.host_only_modules()
    offenders = []
    for source in checked:
        chain = _chain_to_framework(source, repository)
        if chain:
            offenders.append(f"{source.path} reaches {FRAMEWORK}: {' -> '.join(chain)}")
    value = f"{len(offenders)} of {len(checked)} modules reach {FRAMEWORK}"
    return Measure(8, "host-only modules", value, 0 if offenders else 2, tuple(offenders), tuple(offenders))


def private_imports(repository: Repository) -> Measure:
    """Criterion 13: underscored modules or names taken from another module of the suite."""
    offenders = tuple(
        source.at(node, f"takes a private name from {node.module}")
        for source in (*repository.modules, *repository.tests)
        for node in source.nodes
        if isinstance(node, ast.ImportFrom) and _takes_private(node)
    )
    value = f"{len(offenders)} private imports"
    return Measure(13, "packages stand alone", value, 0 if offenders else 2, offenders, offenders)


def find_rings(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Strongly connected groups of more than one node.

    Args:
        graph: node to the nodes that it points at; each of them is a node too.
    Returns:
        The groups, each a set of nodes that all reach one another.
    Source: Kosaraju's algorithm as in Sharir 1981, with iterative walks.
    """
    finished: list[str] = []
    seen: set[str] = set()
    for node in graph:
        finished.extend(_walk(node, graph, seen))
    backwards: dict[str, set[str]] = {node: set() for node in graph}
    for node, targets in graph.items():
        for target in targets:
            backwards[target].add(node)
    seen = set()
    groups = [set(_walk(node, backwards, seen)) for node in reversed(finished)]
    return [group for group in groups if len(group) > 1]


def _walk(start: str, graph: Mapping[str, set[str]], seen: set[str]) -> list[str]:
    """Nodes reached first from `start`, in the order in which a depth-first walk leaves them."""
    left: list[str] = []
    stack: list[tuple[str, bool]] = [(start, False)]
    while stack:
        node, leaving = stack.pop()
        if leaving:
            left.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((target, False) for target in sorted(graph[node]))
    return left


def _import_time_nodes(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run on import: not those of functions, nor those for type checkers only."""
    for node in body:
        if isinstance(node, Function) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            continue
        yield node
        for field in ("body", "orelse", "finalbody"):
            yield from _import_time_nodes(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from _import_time_nodes(handler.body)


def _targets(source: Source, repository: Repository) -> Iterator[str]:
    for node in _import_time_nodes(source.tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, source)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield name if name in repository.by_name else base


def _absolute(node: ast.ImportFrom, source: Source) -> str:
    if not node.level:
        return node.module or ""
    parts = source.package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _local_imports(source: Source) -> Iterator[ast.AST]:
    found = {
        id(node): node
        for function in source.functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return iter(found.values())


def _chain_to_framework(source: Source, repository: Repository) -> list[str]:
    """The shortest chain of import-time imports from the module to mindspore; empty where there is none."""
    chains = {source.module: [source.module]}
    queue = [source.module]
    for name in queue:
        # Importing a.b.c runs a/__init__.py and a/b/__init__.py first.
        parents = {name[:end] for end, letter in enumerate(name) if letter == "."}
        for target in sorted(parents | set(_targets(repository.by_name[name], repository))):
            if target.partition(".")[0] == FRAMEWORK:
                return [*chains[name], FRAMEWORK]
            if target in repository.by_name and target not in chains:
                chains[target] = [*chains[name], target]
                queue.append(target)
    return []


def _takes_private(node: ast.ImportFrom) -> bool:
    parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    from_suite = bool(node.level) or parts[0].startswith(PREFIX)
    return from_suite and any(part.startswith("_") and not part.startswith("__") for part in parts)

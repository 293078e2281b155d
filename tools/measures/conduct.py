"""How code and tests behave: types, suppressed warnings, broad handlers, prints, and checked error messages."""

import ast
import re
from collections.abc import Iterator

from measures.source import Function, Measure, Repository, Source, share

SUPPRESSION = re.compile(r"#\s*(type:\s*ignore|noqa|pragma:\s*no cover|pyright:|mypy:|ruff:)")
COMMAND_LINE = re.compile(r"(^|/)(cli|commands)(/|\.py$)|/(\w+_)?command_line\.py$|/__main__\.py$")
"""Paths of the modules that talk to the person at the terminal, where `print` belongs."""

BROAD = ("Exception", "BaseException")


def error_checks(repository: Repository) -> Measure:
    """Criterion 11: share of `pytest.raises` whose message is looked at."""
    found = [
        (source, call, looked) for source in repository.tests for call, looked in _raises_checks(source) if call.args
    ]
    offenders = tuple(
        source.at(call, "raises checked without its message") for source, call, looked in found if not looked
    )
    percent = share(len(found) - len(offenders), len(found))
    points = 2 if percent == 100 else 1 if percent >= 90 else 0
    return Measure(11, "error messages", f"{percent:.1f}% of {len(found)} raises match a message", points, offenders)


def typing_and_suppressions(repository: Repository) -> Measure:
    """Criterion 12: annotations, suppressions per 1,000 lines, broad `except`, `global`, `print` outside CLIs."""
    functions = [(source, function) for source in repository.modules for function in source.functions()]
    untyped = tuple(
        source.at(function, f"{function.name} lacks annotations")
        for source, function in functions
        if not _annotated(function)
    )
    suppressed = tuple(
        f"{source.path}:{number} suppresses a warning"
        for source in repository.modules
        for number, line in enumerate(source.lines, 1)
        if SUPPRESSION.search(line)
    )
    careless = tuple(place for source in repository.modules for place in _careless(source))
    typed = share(len(functions) - len(untyped), len(functions))
    lines = sum(len(source.lines) for source in repository.modules)
    rate = 1000 * len(suppressed) / lines if lines else 0.0
    best = not untyped and rate <= 0.5 and not careless
    points = 2 if best else 1 if typed >= 97 and rate <= 2 and len(careless) <= 2 else 0
    value = f"{typed:.1f}% annotated, {rate:.1f} suppressions per 1000 lines, {len(careless)} broad except/global/print"
    return Measure(12, "typed, unsuppressed", value, points, untyped + suppressed + careless)


def tests_per_source(repository: Repository) -> Measure:
    """Criterion 14: lines of test code for each line of source."""
    source_lines = sum(len(source.lines) for source in repository.modules)
    test_lines = sum(len(source.lines) for source in repository.tests)
    ratio = test_lines / source_lines if source_lines else 0.0
    points = 2 if 0.6 <= ratio <= 1.3 else 1 if ratio >= 0.4 else 0
    return Measure(14, "tests", f"{ratio:.2f} lines of test per line of source", points)


def _raises_checks(source: Source) -> Iterator[tuple[ast.Call, bool]]:
    """Calls of `pytest.raises`, and whether each one's message is matched, here or through the name it is bound to."""
    bound = {
        id(item.context_expr): item.optional_vars.id
        for node in source.nodes
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name)
    }
    read = {
        node.value.id
        for node in source.nodes
        if isinstance(node, ast.Attribute) and node.attr == "value" and isinstance(node.value, ast.Name)
    }
    for node in source.nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pytest.raises", "raises"):
            yield node, any(keyword.arg == "match" for keyword in node.keywords) or bound.get(id(node)) in read


def _annotated(function: Function) -> bool:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    missing = [a for a in named if a.annotation is None and a.arg not in ("self", "cls")]
    return not missing and (function.returns is not None or function.name == "__init__")


def _careless(source: Source) -> Iterator[str]:
    talks = COMMAND_LINE.search(source.path.as_posix())
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler) and _broad(node):
            yield source.at(node, "broad except")
        elif isinstance(node, ast.Global):
            yield source.at(node, "global")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and not talks:
            yield source.at(node, "print outside a command line")


def _broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(one, ast.Name) and one.id in BROAD for one in caught)

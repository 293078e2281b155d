"""Sizes: files, functions, parameter lists, repeated lines, and what a model family costs."""

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator

from measures.source import Function, Measure, Repository, Source, share

FILE_LIMIT, FUNCTION_LIMIT, PARAMETER_LIMIT = 400, 60, 7
TOLERATED_FILE = 500
WINDOW = 10
"""Lines in a row that count as a repetition when they occur twice."""

FAMILY_MODEL_LIMIT = 120
FAMILY_FILE = re.compile(r"(.+\.families\.\w+)\..+")


def file_sizes(repository: Repository) -> Measure:
    """Criterion 2: lines of each file; the median leaves out `__init__.py`."""
    sizes = {source.path: len(source.lines) for source in (*repository.modules, *repository.tools)}
    long = tuple(f"{path} has {size} lines" for path, size in sizes.items() if size > FILE_LIMIT)
    median = statistics.median([size for path, size in sizes.items() if path.name != "__init__.py"] or [0])
    largest = max(sizes.values(), default=0)
    points = 2 if not long and 80 <= median <= 200 else 1 if largest <= TOLERATED_FILE else 0
    return Measure(2, "file size", f"largest {largest}, median {median:g} lines", points, long, long)


def function_sizes(repository: Repository) -> Measure:
    """Criterion 3: lines of each function, from `def` to its last line, docstring included."""
    sizes = [
        (function.end_lineno - function.lineno + 1, source.at(function, function.name))
        for source in (*repository.modules, *repository.tools)
        for function in source.functions()
        if function.end_lineno
    ]
    long = tuple(f"{place} has {size} lines" for size, place in sizes if size > FUNCTION_LIMIT)
    mean = statistics.fmean([size for size, _ in sizes] or [0])
    over = share(len(long), len(sizes)) if sizes else 0.0
    points = 2 if over <= 1 and mean <= 15 else 1 if over <= 3 and mean <= 18 else 0
    return Measure(3, "function size", f"mean {mean:.1f} lines, {over:.1f}% over {FUNCTION_LIMIT}", points, long, long)


def parameter_counts(repository: Repository) -> Measure:
    """Criterion 4: functions with more parameters than a reader holds; `self` and `cls` do not count."""
    offenders = tuple(
        source.at(function, f"{function.name} takes {count} parameters")
        for source in (*repository.modules, *repository.tools)
        for function in source.functions()
        if (count := _parameter_count(function)) > PARAMETER_LIMIT
    )
    points = 2 if not offenders else 1 if len(offenders) <= 5 else 0
    return Measure(4, "parameter count", f"{len(offenders)} over {PARAMETER_LIMIT}", points, offenders)


def duplication(repository: Repository) -> Measure:
    """Criterion 6: share of lines inside a window of `WINDOW` lines that occurs more than once."""
    listings = [(source, _code_lines(source)) for source in repository.modules]
    windows = Counter(window for _, lines in listings for _, window in _windows(lines))
    repeated = {
        (source.path, number)
        for source, lines in listings
        for start, window in _windows(lines)
        if windows[window] > 1
        for number, _ in lines[start : start + WINDOW]
    }
    percent = share(len(repeated), sum(len(lines) for _, lines in listings)) if repeated else 0.0
    by_file = Counter(path for path, _ in repeated)
    offenders = tuple(f"{path} has {count} repeated lines" for path, count in by_file.most_common())
    points = 2 if percent <= 2 else 1 if percent <= 5 else 0
    return Measure(6, "duplication", f"{percent:.1f}% of lines", points, offenders)


def family_cost(repository: Repository) -> Measure:
    """Criterion 15: lines of a family's `model.py`, and lines outside its folder that name the family's modules."""
    families = sorted({match[1] for source in repository.modules if (match := FAMILY_FILE.fullmatch(source.module))})
    models = {family: repository.by_name.get(f"{family}.model") for family in families}
    lengths = {family: len(source.lines) if source else 0 for family, source in models.items()}
    outside = tuple(
        f"{source.path}:{number} names {family}"
        for family in families
        for source in repository.modules
        if not f"{source.module}.".startswith(f"{family}.")
        for number, line in enumerate(source.lines, 1)
        if re.search(rf"{re.escape(family)}\b", line)
    )
    long = tuple(f"{family}.model has {size} lines" for family, size in lengths.items() if size > FAMILY_MODEL_LIMIT)
    most = max((sum(line.endswith(f"names {family}") for line in outside) for family in families), default=0)
    points = 2 if most <= 1 and not long else 1 if most <= 3 else 0
    value = f"{len(families)} families, longest model.py {max(lengths.values(), default=0)} lines, {most} lines outside"
    return Measure(15, "cost of a family", value, points, long + outside)


def _parameter_count(function: Function) -> int:
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (bool(names) and names[0] in ("self", "cls"))


def _code_lines(source: Source) -> list[tuple[int, str]]:
    """Line number and stripped text of the lines that are neither blank nor comment nor import."""
    imported = {
        number
        for node in source.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    stripped = ((number, line.strip()) for number, line in enumerate(source.lines, 1) if number not in imported)
    return [(number, line) for number, line in stripped if line and not line.startswith("#")]


def _windows(lines: list[tuple[int, str]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    for start in range(len(lines) - WINDOW + 1):
        yield start, tuple(text for _, text in lines[start : start + WINDOW])

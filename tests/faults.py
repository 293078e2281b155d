"""Makes single faults in a run configuration: for each, the changed text, the line and what should be suggested."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mf_config import ConfigError, examine, load
from mf_config.bind import Binding, Written, bind_section
from mf_config.nodes import Mapping, Node, Sequence
from mf_config.problems import errors_in
from mf_config.schema import declarations
from mf_config.sections.run import RunConfig

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST = 4
"""Typos in shorter names make other words."""


@dataclass(frozen=True)
class Fault:
    """One mistake.

    Attributes:
        kind: what was done.
        text: the file with the mistake in it.
        line: where it must be reported, counted from 1.
        meant: what must be suggested, empty where nothing needs to be.
    """

    kind: str
    text: str
    line: int
    meant: str = ""


@dataclass(frozen=True)
class Place:
    """A key of the file that the schema knows, on a line of its own.

    Attributes:
        path: its dotted path.
        line: its line, counted from 1.
        name: the key.
        siblings: the names that stand beside it.
        written: what binding found there.
    """

    path: str
    line: int
    name: str
    siblings: tuple[str, ...]
    written: Written


def places_of(path: Path) -> list[Place]:
    """The keys of a file that have a line to themselves, those of repeated sections left out."""
    document = load(path)
    binding = Binding()
    bind_section(RunConfig, document.root, "", binding)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    found = []
    for place, name, line in _keys(document.root, ""):
        written = binding.written.get(place)
        if written is None or not lines[line - 1].lstrip(" -").startswith(f"{name}:"):
            continue
        found.append(Place(place, line, name, tuple(_siblings(place, binding)), written))
    return found


def faults_of(path: Path, count: int, seed: int) -> Iterator[Fault]:
    """Faults of all kinds, in turn.

    Args:
        path: a file without errors.
        count: how many.
        seed: of the choice of keys and typos.
    """
    dice = random.Random(seed)
    text = path.read_bytes().decode("utf-8-sig")
    places = places_of(path)
    for index in range(count):
        fault = _MAKERS[index % len(_MAKERS)](text, dice.sample(places, len(places)), dice)
        if fault is not None:
            yield fault


def several_faults_of(path: Path, count: int, seed: int) -> tuple[str, list[int]]:
    """Several faults in one text, each on a line of its own, and their lines."""
    dice = random.Random(seed)
    text, lines = path.read_bytes().decode("utf-8-sig"), []
    places = dice.sample(found := places_of(path), len(found))
    for index in range(count):
        free = [place for place in places if place.line not in lines and place.written.component is None]
        fault = (_typo, _wrong_type, _out_of_range)[index % 3](text, free, dice)
        if fault is not None:
            text = fault.text
            lines.append(fault.line)
    return text, sorted(lines)


def _keys(node: Node, path: str) -> Iterator[tuple[str, str, int]]:
    """Path, name and line of every key; sections that repeat others by an alias come once."""
    if isinstance(node, Mapping):
        for name, child in node.entries.items():
            here = f"{path}.{name}" if path else name
            yield here, name, node.key_locations[name].line
            if not here.endswith("_task.dataset_config"):
                yield from _keys(child, here)
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from _keys(item, f"{path}[{index}]")


def _siblings(path: str, binding: Binding) -> Iterator[str]:
    """The names that stand beside a key; at the top level, all that may."""
    section = path.rpartition(".")[0]
    if not section:
        yield from declarations(RunConfig)
        return
    prefix = f"{section}."
    yield from (place.removeprefix(prefix) for place in binding.written if place.startswith(prefix))


def _typo(text: str, places: list[Place], dice: random.Random) -> Fault | None:
    """A letter dropped, doubled, swapped with the next or replaced, or an underscore lost."""
    for place in places:
        if len(place.name) < _SHORTEST:
            continue
        wrong = _misspell(place.name, dice)
        if wrong == place.name or wrong in place.siblings:
            continue
        return Fault("typo", _with_line(text, place.line, f"{place.name}:", f"{wrong}:"), place.line, place.name)
    return None


def _misspell(name: str, dice: random.Random) -> str:
    index = dice.randrange(1, len(name) - 1)
    ways = (
        name[:index] + name[index + 1 :],
        name[:index] + name[index] + name[index:],
        name[:index] + name[index + 1] + name[index] + name[index + 2 :],
        name[:index] + dice.choice(_LETTERS) + name[index + 1 :],
        name.replace("_", "", 1),
    )
    return dice.choice(ways)


def _wrong_type(text: str, places: list[Place], dice: random.Random) -> Fault | None:
    """A word for a number or boolean, a list for a scalar."""
    for place in places:
        value = place.written.value
        if isinstance(value, bool | int | float) and isinstance(place.written.default, bool | int | float):
            wrong = "many" if dice.random() < 0.5 else "[[[many]]]"
            return Fault("wrong type", _with_value(text, place, wrong), place.line)
    return None


def _out_of_range(text: str, places: list[Place], dice: random.Random) -> Fault | None:
    """A number beyond what its key allows."""
    for place in places:
        key, value = place.written.key, place.written.value
        if key is None or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        low = key.minimum if key.minimum is not None else key.above
        if low is not None and low >= 0:
            return Fault("out of range", _with_value(text, place, f"{low - 7:g}"), place.line)
    return None


def _duplicate(text: str, places: list[Place], dice: random.Random) -> Fault | None:
    """A scalar key written a second time, below the first."""
    for place in places:
        lines = text.splitlines(keepends=True)
        line = lines[place.line - 1]
        if isinstance(place.written.value, bool | int | float | str) and not line.lstrip().startswith("- "):
            lines.insert(place.line, line if line.endswith("\n") else f"{line}\n")
            return Fault("duplicate", "".join(lines), place.line + 1)
    return None


def _misplaced(text: str, places: list[Place], dice: random.Random) -> Fault | None:
    """A key of a section at the top level, where no key has its name."""
    for place in places:
        if "." in place.path and place.name not in declarations(RunConfig):
            ending = "" if text.endswith("\n") else "\n"
            return Fault("misplaced", f"{text}{ending}{place.name}: 1\n", len(f"{text}{ending}".splitlines()) + 1)
    return None


def _not_a_choice(text: str, places: list[Place], dice: random.Random) -> Fault | None:
    """A `type:` that no component has."""
    for place in places:
        if place.written.component is not None:
            for line, content in enumerate(text.splitlines(), 1):
                if content.strip(" -").startswith("type:") and place.written.text in content:
                    wrong = place.written.text + dice.choice(_LETTERS)
                    return Fault("no such type", _with_line(text, line, place.written.text, wrong), line)
    return None


def _wrong_product(text: str, places: list[Place], dice: random.Random) -> Fault | None:
    """A degree that does not divide the heads."""
    by_path = {place.path: place for place in places}
    degree, spread = by_path.get("parallel_config.model_parallel"), by_path.get("use_parallel")
    if degree is None or spread is None or not spread.written.value:
        return None
    return Fault("wrong product", _with_value(text, degree, "11"), degree.line)


_MAKERS = (_typo, _wrong_type, _typo, _out_of_range, _duplicate, _misplaced, _not_a_choice, _wrong_product)


def _with_value(text: str, place: Place, value: str) -> str:
    """The text with another value behind a key, comments and all that follows on its line left out."""
    lines = text.splitlines(keepends=True)
    line = lines[place.line - 1]
    begin = line[: line.index(f"{place.name}:") + len(place.name) + 1]
    lines[place.line - 1] = f"{begin} {value}\n"
    return "".join(lines)


def _with_line(text: str, line: int, old: str, new: str) -> str:
    """The text with one word of one line replaced."""
    lines = text.splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return "".join(lines)


def errors_of(path: Path) -> list[tuple[int, str]]:
    """Line and suggestion of every error of a file."""
    try:
        problems = examine(load(path)).problems
    except ConfigError as error:
        problems = error.problems
    return [(problem.location.line, problem.suggestion) for problem in errors_in(problems)]

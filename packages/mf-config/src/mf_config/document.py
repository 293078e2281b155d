"""From files and overrides to one document: `base_config` merged beneath, `--set` laid on top."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mf_config.nodes import Document, Mapping, Node, Scalar, Sequence, describe_node
from mf_config.problems import ConfigError, Location, Problem
from mf_config.scalars import means_unset
from mf_config.yaml_reader import name_nearby, read_file, read_value

_BASE_KEY = "base_config"
_MOST_FILES = 32
"""Read for one configuration, a file counted as often as one names it."""

COMMAND_LINE = Location("command line:--set", 0)
"""Where an override stands."""
_FILE_MARK = "@"
"""Begins an override that names a file of them; no plain key of YAML begins so."""
_PATH = re.compile(r"[^.\[\]]+(\.[^.\[\]]+|\[[0-9]{1,9}\]){0,19}")
"""Of an override: keys with dots between them, an element of a list as its index in brackets; far from endless."""
_STEP = re.compile(r"\[([0-9]+)\]|([^.\[\]]+)")


def load(path: str | Path, overrides: Iterable[str] = ()) -> Document:
    """Read a run configuration strictly, without interpreting its values.

    Args:
        path: a YAML file. `base_config`, a file name or a list of them relative to this file, is read first; sections
            are merged key by key, later files over earlier ones.
        overrides: `key.path[0].key=value` texts, applied last and in order; the value is read as YAML. An element of a
            list is also named `key.path.0.key`. Where a section is used again by an alias, only the use that the path
            names is changed. `@file.yaml` stands for a file, with its own bases, that is merged on top in this place.
    Returns:
        The merged document, every value with the place where it was written. Mistakes that leave the rest readable,
        such as a key written twice or an override that can't be applied, are in its `problems`.
    Raises:
        ConfigError: a file can't be read, is not YAML, or its bases are missing, too many, or form a cycle.
    """
    loader = _Loader()
    root = loader.read(Path(path), str(path), ())
    for override in overrides:
        if override.startswith(_FILE_MARK):
            root = loader.apply_file(root, override.removeprefix(_FILE_MARK))
        else:
            root = loader.apply_override(root, override)
    return Document(str(path), root, tuple(dict.fromkeys(loader.sources)), tuple(loader.problems))


@dataclass(frozen=True, slots=True)
class _Request:
    """A file that is being read, and where it names the base that is read next."""

    path: Path
    place: Location


class _Loader:
    """Reads files and overrides, and gathers their names and mistakes on the way."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.problems: list[Problem] = []
        self._requests = 0

    def read(self, path: Path, shown: str, chain: tuple[_Request, ...]) -> Mapping:
        """A file over its bases; `chain` holds the files that asked for it."""
        reading = read_file(path, shown)
        self.problems += reading.problems
        merged: Mapping | None = None
        for named in _bases(reading.root):
            base = self._find_base(path, named, chain)
            below = self.read(base, str(base), (*chain, _Request(path.resolve(), named.location)))
            merged = below if merged is None else _merge(merged, below)
        self.sources.append(shown)
        own = _without(reading.root, _BASE_KEY)
        return own if merged is None else _merge(merged, own)

    def _find_base(self, path: Path, named: Scalar, chain: tuple[_Request, ...]) -> Path:
        """The base that a file names.

        Raises:
            ConfigError: there is no such file, it asks for this very file, or too many files were read.
        """
        self._requests += 1
        if self._requests > _MOST_FILES:
            raise _base_error(named, "too many base files are named", f"{_MOST_FILES} in all")
        base = path.parent / named.text
        try:
            found, target = base.is_file(), base.resolve()
        except (OSError, ValueError) as error:
            raise _base_error(named, f"{describe_node(named)} is not the name of a file", "a file name") from error
        if not found:
            near = name_nearby(base)
            suggestion = near and str(Path(named.text).with_name(near))
            raise _base_error(named, f"no file {str(base)!r}", "a path relative to this file", suggestion)
        requests = (*chain, _Request(path.resolve(), named.location))
        again = [index for index, request in enumerate(requests) if request.path == target]
        if again:
            cycle = [request.place for request in requests[again[0] :]]
            steps = [f"{place.file}:{place.line}:{place.column}" for place in cycle]
            what = f"the base files form a cycle: {' -> '.join([*steps, cycle[0].file])}"
            raise _base_error(named, what, "no cycles")
        return base

    def apply_file(self, root: Mapping, name: str) -> Mapping:
        """The document with a file of overrides merged on top, or as it was where no file is named."""
        if not name:
            what = f"{_FILE_MARK!r} names no file"
            self.problems.append(Problem(COMMAND_LINE, "", what, f"{_FILE_MARK}FILE"))
            return root
        return _merge(root, self.read(Path(name), name, ()))

    def apply_override(self, root: Mapping, override: str) -> Mapping:
        """The document with one `key.path=value` applied, or as it was where that is impossible."""
        path, equals, text = override.partition("=")
        path = path.strip()
        steps = _steps(path)
        if not equals or not steps:
            what = f"{override!r} is not an override"
            self.problems.append(Problem(COMMAND_LINE, "", what, "KEY.PATH=VALUE, a list's element as KEY[0]"))
            return root
        if steps[0] == _BASE_KEY:
            what = "base files are merged before overrides are applied"
            self.problems.append(Problem(COMMAND_LINE, path, what, "base_config in a file"))
            return root
        try:
            changed = _replace(root, steps, read_value(text, COMMAND_LINE, path), path)
        except ConfigError as error:
            self.problems += error.problems
            return root
        assert isinstance(changed, Mapping)
        return changed


def _bases(root: Mapping) -> list[Scalar]:
    """The names in `base_config`."""
    node = root.entries.get(_BASE_KEY)
    if node is None or (isinstance(node, Scalar) and means_unset(node)):
        return []
    names = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        if not isinstance(item, Scalar) or means_unset(item):
            raise _base_error(item, f"{describe_node(item)} is not a file name", "a file name or a list of them")
        names.append(item)
    return names


def _base_error(node: Node, what: str, allowed: str, suggestion: str = "") -> ConfigError:
    return ConfigError([Problem(node.location, _BASE_KEY, what, allowed, suggestion)])


def _merge(below: Mapping, above: Mapping) -> Mapping:
    """Both mappings in one, section by section; `above` wins, and sections stand where `below` has them."""
    entries, places = dict(below.entries), dict(below.key_locations)
    for name, node in above.entries.items():
        under = entries.get(name)
        if isinstance(under, Mapping) and isinstance(node, Mapping):
            entries[name] = _merge(under, node)
        else:
            entries[name], places[name] = node, above.key_locations[name]
    return Mapping(entries, places, below.location)


def _without(root: Mapping, name: str) -> Mapping:
    return Mapping({key: node for key, node in root.entries.items() if key != name}, root.key_locations, root.location)


def _steps(path: str) -> list[str | int]:
    """The keys and indices of `a.b[0].c`; nothing where the path is not of this form."""
    if not _PATH.fullmatch(path):
        return []
    return [key or int(index) for index, key in _STEP.findall(path)]


def _replace(node: Node | None, steps: list[str | int], value: Node, path: str) -> Node:
    """A copy of `node` with the value under `steps` set; missing sections are made on the way.

    Raises:
        ConfigError: a list has no such element.
    """
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(node, Sequence):
        index = _index(node, step, path)
        items = list(node.items)
        items[index] = _replace(items[index], rest, value, path)
        return Sequence(tuple(items), node.location)
    if isinstance(step, int):
        raise ConfigError(
            [Problem(COMMAND_LINE, path, f"there is no list to have an element [{step}]", "a whole list")]
        )
    section = node if isinstance(node, Mapping) else Mapping({}, {}, COMMAND_LINE)
    entries, places = dict(section.entries), dict(section.key_locations)
    entries[step] = _replace(entries.get(step), rest, value, path)
    if not rest or step not in places:
        places[step] = COMMAND_LINE
    return Mapping(entries, places, section.location)


def _index(node: Sequence, step: str | int, path: str) -> int:
    """The index that a step names.

    Raises:
        ConfigError: the list has no such element.
    """
    if isinstance(step, int) or (step.isascii() and step.isdigit() and len(step) < 10):
        index = int(step)
        if index < len(node.items):
            return index
    allowed = f"0 to {len(node.items) - 1}" if node.items else "a whole list"
    raise ConfigError([Problem(COMMAND_LINE, path, f"the list has no element {str(step)!r}", allowed)])

"""From files and overrides to one document: `base_config` merged beneath, `--set` laid on top."""

from collections.abc import Iterable
from pathlib import Path

from mf_config.nodes import Document, Mapping, Node, Scalar, Sequence
from mf_config.problems import ConfigError, Location, Problem
from mf_config.scalars import means_unset
from mf_config.suggest import nearest
from mf_config.yaml_reader import read_file, read_value

_BASE_KEY = "base_config"
_COMMAND_LINE = Location("command line:--set", 0)
"""Where an override stands."""


def load(path: str | Path, overrides: Iterable[str] = ()) -> Document:
    """Read a run configuration strictly, without interpreting its values.

    Args:
        path: a YAML file. `base_config`, a file name or a list of them relative to this file, is read first; sections
            are merged key by key, later files over earlier ones.
        overrides: `key.path=value` texts, applied last and in order; the value is read as YAML.
    Returns:
        The merged document, every value with the place where it was written. Mistakes that leave the rest readable,
        such as a key written twice or an override that can't be applied, are in its `problems`.
    Raises:
        ConfigError: a file can't be read, is not YAML, or its bases are missing or form a cycle.
    """
    loader = _Loader()
    root = loader.read(Path(path), str(path), ())
    for override in overrides:
        root = loader.apply_override(root, override)
    return Document(str(path), root, tuple(loader.sources), tuple(loader.problems))


class _Loader:
    """Reads files and overrides, and gathers their names and mistakes on the way."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.problems: list[Problem] = []

    def read(self, path: Path, shown: str, chain: tuple[Path, ...]) -> Mapping:
        """A file over its bases; `chain` holds the files that asked for it."""
        reading = read_file(path, shown)
        self.problems += reading.problems
        chain = (*chain, path.resolve())
        merged: Mapping | None = None
        for named in _bases(reading.root):
            base = path.parent / named.text
            if base.resolve() in chain:
                raise _base_error(named, f"{named.text!r} leads back to this file", "no cycles")
            if not base.is_file():
                near = nearest(base.name, (other.name for other in base.parent.glob("*")))
                raise _base_error(named, f"no file {str(base)!r}", "a path relative to this file", near)
            below = self.read(base, str(base), chain)
            merged = below if merged is None else _merge(merged, below)
        self.sources.append(shown)
        own = _without(reading.root, _BASE_KEY)
        return own if merged is None else _merge(merged, own)

    def apply_override(self, root: Mapping, override: str) -> Mapping:
        """The document with one `key.path=value` applied, or as it was where that is impossible."""
        path, equals, text = override.partition("=")
        if not equals or not all(path.split(".")):
            what = f"{override!r} is not an override"
            self.problems.append(Problem(_COMMAND_LINE, "", what, "KEY.PATH=VALUE"))
            return root
        try:
            changed = _replace(root, path.split("."), read_value(text, _COMMAND_LINE, path), path)
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
        if not isinstance(item, Scalar):
            raise _base_error(item, "is not a file name", "a file name or a list of them")
        names.append(item)
    return names


def _base_error(node: Node, what: str, allowed: str, suggestion: str = "") -> ConfigError:
    return ConfigError([Problem(node.location, _BASE_KEY, what, allowed, suggestion)])


def _merge(below: Mapping, above: Mapping) -> Mapping:
    """Both mappings in one, section by section; `above` wins."""
    entries, places = dict(below.entries), dict(below.key_locations)
    for name, node in above.entries.items():
        under = entries.get(name)
        entries[name] = _merge(under, node) if isinstance(under, Mapping) and isinstance(node, Mapping) else node
        places[name] = above.key_locations[name]
    return Mapping(entries, places, above.location)


def _without(root: Mapping, name: str) -> Mapping:
    return Mapping({key: node for key, node in root.entries.items() if key != name}, root.key_locations, root.location)


def _replace(node: Node | None, keys: list[str], value: Node, path: str) -> Node:
    """A copy of `node` with the value under `keys` set; missing sections are made on the way.

    Raises:
        ConfigError: a list has no such element.
    """
    if not keys:
        return value
    name, rest = keys[0], keys[1:]
    if isinstance(node, Sequence):
        if not (name.isascii() and name.isdigit() and int(name) < len(node.items)):
            allowed = f"0 to {len(node.items) - 1}" if node.items else "a whole list"
            raise ConfigError([Problem(_COMMAND_LINE, path, f"the list has no element {name!r}", allowed)])
        items = list(node.items)
        items[int(name)] = _replace(items[int(name)], rest, value, path)
        return Sequence(tuple(items), node.location)
    section = node if isinstance(node, Mapping) else Mapping({}, {}, _COMMAND_LINE)
    entries, places = dict(section.entries), dict(section.key_locations)
    entries[name] = _replace(entries.get(name), rest, value, path)
    if not rest or name not in places:
        places[name] = _COMMAND_LINE
    return Mapping(entries, places, section.location)

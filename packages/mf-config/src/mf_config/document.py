"""From files and overrides to one document: `base_config` merged beneath, `--set` laid on top."""

from collections.abc import Iterable
from pathlib import Path

from mf_config.nodes import Document, Mapping, Node, Sequence
from mf_config.problems import ConfigError, Location, Problem
from mf_config.yaml_reader import read_file, read_value

_BASE_KEY = "base_config"
COMMAND_LINE = Location("command line", 0)
"""Where an override stands."""


def load(path: str | Path, overrides: Iterable[str] = ()) -> Document:
    """Read a run configuration strictly, without interpreting its values.

    Args:
        path: a YAML file. `base_config`, a file name or a list of them relative to this file, is read first; sections
            are merged key by key, later files over earlier ones.
        overrides: `key.path=value` texts, applied last and in order; the value is read as YAML.
    Returns:
        The merged document, every value with the place where it was written.
    Raises:
        ConfigError: the file can't be read, is not YAML, has duplicate keys, its bases form a cycle, or an override
            can't be applied.
    """
    sources: list[str] = []
    root = _read_with_bases(Path(path), str(path), (), sources)
    for override in overrides:
        root = _apply_override(root, override)
    return Document(str(path), root, tuple(sources))


def _read_with_bases(path: Path, shown: str, chain: tuple[Path, ...], sources: list[str]) -> Mapping:
    root = read_file(path, shown)
    chain = (*chain, path.resolve())
    merged: Mapping | None = None
    for name, location in _bases(root):
        base = path.parent / name
        if base.resolve() in chain:
            raise ConfigError([Problem(location, _BASE_KEY, f"{name!r} leads back to this file", "no cycles")])
        if not base.is_file():
            raise ConfigError([Problem(location, _BASE_KEY, f"no file {str(base)!r}", "a file beside this one")])
        below = _read_with_bases(base, str(base), chain, sources)
        merged = below if merged is None else _merge(merged, below)
    sources.append(shown)
    own = _without(root, _BASE_KEY)
    return own if merged is None else _merge(merged, own)


def _bases(root: Mapping) -> list[tuple[str, Location]]:
    """Names in `base_config`, each with its place."""
    node = root.entries.get(_BASE_KEY)
    if node is None:
        return []
    if isinstance(node, Mapping):
        raise ConfigError([Problem(node.location, _BASE_KEY, "is a section", "a file name or a list of them")])
    names = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(item, Sequence | Mapping):
            raise ConfigError([Problem(item.location, _BASE_KEY, "is not a file name", "a file name")])
        names.append((item.text, item.location))
    return names


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


def _apply_override(root: Mapping, override: str) -> Mapping:
    path, equals, text = override.partition("=")
    if not equals or not all(path.split(".")):
        what = f"{override!r} is not an override"
        raise ConfigError([Problem(COMMAND_LINE, "--set", what, "KEY.PATH=VALUE")])
    place = Location(f"{COMMAND_LINE.file}:--set", 0)
    changed = _replace(root, path.split("."), read_value(text, place, path), place, path)
    assert isinstance(changed, Mapping)
    return changed


def _replace(node: Node | None, keys: list[str], value: Node, place: Location, path: str) -> Node:
    """A copy of `node` with the value under `keys` set; missing sections are made on the way."""
    if not keys:
        return value
    name, rest = keys[0], keys[1:]
    if isinstance(node, Sequence):
        if not name.isdigit() or int(name) >= len(node.items):
            what = f"the list has no element {name!r}"
            raise ConfigError([Problem(place, path, what, f"0 to {len(node.items) - 1}")])
        items = list(node.items)
        items[int(name)] = _replace(items[int(name)], rest, value, place, path)
        return Sequence(tuple(items), node.location)
    entries = dict(node.entries) if isinstance(node, Mapping) else {}
    places = dict(node.key_locations) if isinstance(node, Mapping) else {}
    entries[name] = _replace(entries.get(name), rest, value, place, path)
    places[name] = place
    return Mapping(entries, places, node.location if node is not None else place)

"""Configuration: keys that nobody reads, and readers of configuration files outside mf_config."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from measures.source import Function, Measure, Repository, Source

OWNER = "mf_config"
DECLARED_UNREAD = ("inert", "alias_suffix")
"""Arguments of `key` that say why no module reads the key."""

CHECKS = ("problems", "__post_init__")
"""Methods of a section that only look whether its values fit together, which gives a key no effect."""


@dataclass(frozen=True)
class _Key:
    source: Source
    section: ast.ClassDef
    declaration: ast.AnnAssign
    name: str


def unread_keys(repository: Repository) -> Measure:
    """Criterion 9: fields made by `key` that only checks of their own class read, and that do not say why."""
    keys = [key for source in repository.modules for key in _keys(source)]
    names = {key.name for key in keys}
    readers: dict[str, list[ast.Attribute]] = {name: [] for name in names}
    for source in repository.modules:
        for node in source.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in names:
                readers[node.attr].append(node)
    checking = {id(key.section): set(_nodes_of_checks(key.section)) for key in keys}
    offenders = tuple(
        key.source.at(key.declaration, f"nothing reads {key.section.name}.{key.name}")
        for key in keys
        if all(id(node) in checking[id(key.section)] for node in readers[key.name])
    )
    points = 2 if not offenders else 1 if len(offenders) <= 2 else 0
    return Measure(9, "every key is read", f"{len(offenders)} of {len(keys)} unread", points, offenders, offenders)


def config_systems(repository: Repository) -> Measure:
    """Criterion 10: YAML imported outside mf_config, and configurations passed about as dicts."""
    outside = [source for source in repository.modules if source.distribution != OWNER]
    loads = tuple(
        source.at(node, "reads YAML itself") for source in outside for node in source.nodes if _imports_yaml(node)
    )
    dicts = tuple(
        source.at(function, f"{function.name} takes a configuration as a dict")
        for source in outside
        for function in source.functions()
        if _takes_config_dict(function)
    )
    points = 0 if loads else 1 if dicts else 2
    value = f"{len(loads)} YAML readers outside {OWNER}, {len(dicts)} dict configurations"
    return Measure(10, "one config system", value, points, loads + dicts)


def _keys(source: Source) -> Iterator[_Key]:
    for section in source.nodes:
        if isinstance(section, ast.ClassDef):
            for field in section.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _must_be_read(field):
                    yield _Key(source, section, field, field.target.id)


def _nodes_of_checks(section: ast.ClassDef) -> Iterator[int]:
    for method in section.body:
        if isinstance(method, Function) and method.name in CHECKS:
            yield from map(id, ast.walk(method))


def _must_be_read(field: ast.AnnAssign) -> bool:
    call = field.value
    return (
        isinstance(call, ast.Call)
        and ast.unparse(call.func).rpartition(".")[2] == "key"
        and not any(keyword.arg in DECLARED_UNREAD or _takes_one_value(keyword) for keyword in call.keywords)
    )


def _takes_one_value(keyword: ast.keyword) -> bool:
    """Whether a key refuses every value but one: then that value is what happens anyway, and nobody asks for it."""
    return keyword.arg == "allowed" and isinstance(keyword.value, ast.Tuple) and len(keyword.value.elts) == 1


def _imports_yaml(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] == "yaml" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "yaml"


def _takes_config_dict(function: Function) -> bool:
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return any(
        argument.arg in ("config", "cfg", "configuration")
        and argument.annotation is not None
        and ast.unparse(argument.annotation).lower().startswith(("dict", "mapping", "mutablemapping"))
        for argument in arguments
    )

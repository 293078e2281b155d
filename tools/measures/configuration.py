"""Configuration: keys that nobody reads, and readers of configuration files outside mf_config."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from measures.source import Function, Measure, Repository, Source

OWNER = "mf_config"
DECLARED_UNREAD = ("inert", "pending", "alias_suffix")
"""Arguments of `key`, and of `component`, that say why no module reads a key."""

READ_BY_NAME = ("getattr", "model")
"""Functions that take the name of a key as text; `Checked.model` asks a family's section."""

CHECKS = ("problems", "__post_init__")
"""Methods of a section that only look whether its values fit together, which gives a key no effect."""


@dataclass(frozen=True)
class _Key:
    source: Source
    section: ast.ClassDef
    declaration: ast.AnnAssign
    name: str


def unread_keys(repository: Repository) -> Measure:
    """Criterion 9: fields made by `key` that only checks of their own class read, and that do not say why.

    The keys of a section need no reader where the section itself says why: it is a component that can't be run yet, or
    stands only under keys that say so, or passes its keys on only to such sections.
    """
    excused = _excused_sections(repository)
    keys = [key for source in repository.modules for key in _keys(source) if key.section.name not in excused]
    names = {key.name for key in keys}
    readers: dict[str, list[ast.AST]] = {name: [] for name in names}
    for source in repository.modules:
        for node in source.nodes:
            if (name := _name_read(node)) in names:
                readers[name].append(node)
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


def _name_read(node: ast.AST) -> str:
    """The name of the key that an expression may read, empty where it reads none."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return node.attr
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in READ_BY_NAME:
        names = [word.value for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        return names[0] if names else ""
    return ""


def _excused_sections(repository: Repository) -> set[str]:
    """Names of the section classes that are read nowhere, for a reason that the sources give."""
    classes = {
        node.name: node for source in repository.modules for node in source.nodes if isinstance(node, ast.ClassDef)
    }
    uses: dict[str, list[tuple[str, bool]]] = {}
    for owner, section in classes.items():
        for base in section.bases:
            uses.setdefault(ast.unparse(base).rpartition(".")[2], []).append((owner, False))
        for field in section.body:
            if isinstance(field, ast.AnnAssign) and _is_key(field):
                for word in ast.walk(field.annotation):
                    if isinstance(word, ast.Name) and word.id in classes:
                        uses.setdefault(word.id, []).append((owner, not _must_be_read(field)))
    excused = {name for name, section in classes.items() if _is_not_run(section)}
    while True:
        more = {
            name
            for name, places in uses.items()
            if name in classes and all(silent or owner in excused for owner, silent in places)
        } - excused
        if not more:
            return excused
        excused |= more


def _is_not_run(section: ast.ClassDef) -> bool:
    """Whether a class is a component whose decorator says why it has no effect."""
    return any(
        isinstance(decorator, ast.Call) and any(keyword.arg in DECLARED_UNREAD for keyword in decorator.keywords)
        for decorator in section.decorator_list
    )


def _keys(source: Source) -> Iterator[_Key]:
    for section in source.nodes:
        if isinstance(section, ast.ClassDef):
            fields = [field for field in section.body if isinstance(field, ast.AnnAssign) and _is_key(field)]
            silent = {ast.unparse(field.target) for field in fields if not _must_be_read(field)}
            for field in fields:
                # What counts only while a switch is on has no effect where the switch has none.
                if _must_be_read(field) and _switch_of(field) not in silent:
                    yield _Key(source, section, field, ast.unparse(field.target))


def _switch_of(field: ast.AnnAssign) -> str:
    """The name of the key that must be on for this one to count; empty where there is none."""
    assert isinstance(field.value, ast.Call)
    names = [keyword.value for keyword in field.value.keywords if keyword.arg == "needs"]
    return str(names[0].value) if names and isinstance(names[0], ast.Constant) else ""


def _nodes_of_checks(section: ast.ClassDef) -> Iterator[int]:
    for method in section.body:
        if isinstance(method, Function) and method.name in CHECKS:
            yield from map(id, ast.walk(method))


def _is_key(field: ast.AnnAssign) -> bool:
    return isinstance(field.value, ast.Call) and ast.unparse(field.value.func).rpartition(".")[2] == "key"


def _must_be_read(field: ast.AnnAssign) -> bool:
    if not _is_key(field):
        return False
    assert isinstance(field.value, ast.Call)
    return not any(keyword.arg in DECLARED_UNREAD or _takes_one_value(keyword) for keyword in field.value.keywords)


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

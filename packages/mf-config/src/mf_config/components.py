"""Finds the components that installed packages declare.

A package announces the folder of a kind of component as an entry point of group `mf.components`, named after the
kind: `optimizer = "mf_train.optimizers"`. Every module directly in that folder is imported once, and each class there
that carries the kind's tag is a component. So a new optimizer is one new file, and another distribution adds its own
by an entry point of its own. Those modules import no MindSpore when they are loaded.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from types import MappingProxyType, ModuleType
from typing import Any, get_args

from mf_config.schema import TYPE_KEY, ComponentOf, tag_of

GROUP = "mf.components"


@cache
def announced() -> EntryPoints:
    """The folders of components that installed packages announce.

    They are looked up once: looking takes about ten milliseconds, because every distribution's metadata is read.
    """
    return entry_points(group=GROUP)


@cache
def kinds() -> tuple[str, ...]:
    """The kinds for which any installed package has components, sorted."""
    return tuple(sorted({point.name for point in announced()}))


@cache
def components(kind: str) -> Mapping[str, type]:
    """The components of one kind.

    Args:
        kind: `optimizer`, `lr_schedule`, `callback`, `model`, …
    Returns:
        Every accepted `type:` name to its section class, in order of names; empty where no installed package has any.
    Raises:
        ValueError: two packages claim the same name.
    """
    found: dict[str, type] = {}
    for point in announced().select(name=kind):
        for module in _modules_of(point.value):
            for cls in vars(module).values():
                tag = tag_of(cls) if isinstance(cls, type) else None
                if tag is None or tag.kind != kind:
                    continue
                for name in tag.names:
                    if found.setdefault(name, cls) is not cls:
                        raise ValueError(f"{kind} {name!r} is declared by {found[name]!r} and by {cls!r}")
    return MappingProxyType(dict(sorted(found.items())))


def type_name(section: object) -> str:
    """The canonical `type:` of a component's section object."""
    tag = tag_of(type(section))
    if tag is None:
        raise TypeError(f"{type(section).__name__} is not a component")
    return tag.names[0]


def chooser_in(annotation: Any) -> str:
    """The key that chooses the component that a field of this type holds; `type` where it holds none."""
    if isinstance(annotation, ComponentOf):
        return annotation.chooser
    choosers = (chooser_in(part) for part in get_args(annotation))
    return next((chooser for chooser in choosers if chooser != TYPE_KEY), TYPE_KEY)


def _modules_of(package: str) -> list[ModuleType]:
    """The modules and packages directly inside a package, imported."""
    folder = importlib.import_module(package)
    return [importlib.import_module(f"{package}.{info.name}") for info in pkgutil.iter_modules(folder.__path__)]

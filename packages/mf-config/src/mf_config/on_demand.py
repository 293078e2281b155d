"""Names that are imported when somebody asks for them, so that a command line answers before heavy modules load."""

from collections.abc import Callable, Mapping
from importlib import import_module


def names_on_demand(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """What a package sets as its `__getattr__` to offer names without importing the modules that define them.

    Args:
        package: name of the package.
        homes: module of each public name, or `module:name` where the module calls it otherwise.
    """

    def attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, other_name = homes[name].partition(":")
        found: object = getattr(import_module(module), other_name or name)
        return found

    return attribute

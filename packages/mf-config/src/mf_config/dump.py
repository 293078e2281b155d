"""A decoded configuration back to YAML, every default written out: the `config.resolved.yaml` of a run."""

import dataclasses
import math
from types import NoneType
from typing import Any, get_args

import yaml

from mf_config.components import chooser_in, type_name
from mf_config.nodes import Scalar
from mf_config.problems import Location
from mf_config.scalars import parse_untyped
from mf_config.schema import TYPE_KEY, Declaration, declarations, tag_of
from mf_config.sections.run import RunConfig


def to_yaml(config: RunConfig) -> str:
    """The configuration as YAML that decodes to an equal configuration."""
    text: str = yaml.dump(to_plain(config), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def to_plain(value: Any, chooser: str = TYPE_KEY) -> Any:
    """A section (or any value inside one) as dicts, lists and scalars.

    Args:
        value: a section, a list of them, or a value of a key.
        chooser: the key that says which component a section configures.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {chooser: type_name(value)} if tag_of(type(value)) else {}
        for name, declared in declarations(type(value)).items():
            item = getattr(value, name)
            if can_be_written(declared, item):
                plain[name] = to_plain(item, chooser_in(declared.annotation))
        return plain
    if isinstance(value, tuple):
        return [to_plain(item, chooser) for item in value]
    if isinstance(value, dict):
        return {name: to_plain(item, chooser) for name, item in value.items()}
    return value


def can_be_written(declared: Declaration, value: Any) -> bool:
    """Whether a key with this value stands in a dump: not where it repeats another, or is unset by being left out."""
    takes_none = declared.annotation is Any or NoneType in get_args(declared.annotation)
    return not declared.key.alias_suffix and (value is not None or takes_none)


def to_line(value: Any) -> str:
    """A scalar, or a list of scalars, as YAML on one line."""
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=math.inf, default_flow_style=True)
    return text.removesuffix("\n").removesuffix("\n...")


class _Dumper(yaml.SafeDumper):
    """Puts quotation marks around every text that would be read as something else."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    read_bare = parse_untyped(Scalar(text, False, Location("", 0))).value
    style = None if read_bare == text else "'"
    # Only quotation marks of the double kind keep a text of several lines on one.
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "\n" in text else style)


_Dumper.add_representer(str, _represent_text)

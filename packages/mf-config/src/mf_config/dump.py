"""A decoded configuration back to YAML, every default written out: the `config.resolved.yaml` of a run."""

import dataclasses
from typing import Any

import yaml

from mf_config.components import type_name
from mf_config.nodes import Scalar
from mf_config.problems import Location
from mf_config.scalars import parse_untyped
from mf_config.schema import TYPE_KEY, declarations, tag_of
from mf_config.sections.run import RunConfig


def to_yaml(config: RunConfig) -> str:
    """The configuration as YAML that decodes to an equal configuration."""
    text: str = yaml.dump(to_plain(config), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def to_plain(section: Any) -> Any:
    """A section (or any value inside one) as dicts, lists and scalars."""
    if dataclasses.is_dataclass(section) and not isinstance(section, type):
        plain = {TYPE_KEY: type_name(section)} if tag_of(type(section)) else {}
        for name, declared in declarations(type(section)).items():
            if not declared.key.alias_suffix:
                plain[name] = to_plain(getattr(section, name))
        return plain
    if isinstance(section, tuple):
        return [to_plain(item) for item in section]
    if isinstance(section, dict):
        return {name: to_plain(value) for name, value in section.items()}
    return section


class _Dumper(yaml.SafeDumper):
    """Puts quotation marks around every text that would be read as something else."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    read_bare = parse_untyped(Scalar(text, False, Location("", 0))).value
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if read_bare == text else "'")


_Dumper.add_representer(str, _represent_text)

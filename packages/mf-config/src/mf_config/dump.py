"""A decoded configuration back to YAML, every default written out: the `config.resolved.yaml` of a run."""

import dataclasses
from typing import Any

import yaml

from mf_config.bind import TYPE_KEY
from mf_config.components import type_name
from mf_config.schema import key_of, tag_of
from mf_config.sections.run import RunConfig


def to_yaml(config: RunConfig) -> str:
    """The configuration as YAML that decodes to an equal configuration."""
    text: str = yaml.safe_dump(to_plain(config), sort_keys=False, allow_unicode=True)
    return text


def to_plain(section: Any) -> Any:
    """A section (or any value inside one) as dicts, lists and scalars."""
    if dataclasses.is_dataclass(section) and not isinstance(section, type):
        plain = {TYPE_KEY: type_name(section)} if tag_of(type(section)) else {}
        for declared in dataclasses.fields(section):
            if not key_of(declared).alias_suffix:
                plain[declared.name] = to_plain(getattr(section, declared.name))
        return plain
    if isinstance(section, tuple):
        return [to_plain(item) for item in section]
    if isinstance(section, dict):
        return {name: to_plain(value) for name, value in section.items()}
    return section

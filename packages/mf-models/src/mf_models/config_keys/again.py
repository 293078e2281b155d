"""Repeats a shared key with another default, so that its text stands once."""

from dataclasses import fields
from typing import Any

from mf_config.schema import Key, key, key_of


def again(section: type, name: str, default: Any, **changes: Any) -> Any:
    """Declare a key as another section class does, but with another default.

    Args:
        section: the class that declares it.
        name: of the key.
        default: its default here.
        **changes: attributes of `mf_config.schema.Key` that differ too.

    Returns:
        A dataclass field, as `mf_config.schema.key` makes it.

    Raises:
        KeyError: the class has no such key.
    """
    shared = key_of({declared.name: declared for declared in fields(section)}[name])
    details = {attribute.name: getattr(shared, attribute.name) for attribute in fields(Key)} | changes
    return key(details.pop("doc"), default, **details)

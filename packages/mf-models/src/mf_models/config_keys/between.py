"""From the section of one family to that of another."""

from dataclasses import fields
from typing import Any

from mf_models.config_keys.decoder import DecoderKeys


def shared_values(section: DecoderKeys, family: type[DecoderKeys]) -> dict[str, Any]:
    """The values of the keys of a section that another family has too.

    Args:
        section: what a file has.
        family: the section class of the other family.
    """
    known = {declared.name for declared in fields(family)}
    return {declared.name: getattr(section, declared.name) for declared in fields(section) if declared.name in known}

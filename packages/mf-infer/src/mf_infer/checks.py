"""Checks of values that a person has given."""

import math
from collections.abc import Sequence
from typing import TypeGuard

from mf_config.problems import UserError

_LONGEST_QUOTE = 200


def refusal(name: str, value: object, allowed: str) -> str:
    """What is said of a value that can't be used; a long one is quoted in part."""
    quoted = repr(value)
    quoted = quoted if len(quoted) <= _LONGEST_QUOTE else f"{quoted[:_LONGEST_QUOTE]}…"
    return f"{name}: {quoted} can't be used. Allowed: {allowed}."


def check(name: str, value: object, fits: bool, allowed: str) -> None:
    """Refuse a value that doesn't fit.

    Raises:
        UserError: it names the setting, the value and what is allowed.
    """
    if not fits:
        raise UserError(refusal(name, value, allowed))


def is_integer(value: object) -> bool:
    """Whether it is a whole number; Python counts True as one, a person does not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether it is a finite number."""
    return is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Whether it is a sequence other than text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))

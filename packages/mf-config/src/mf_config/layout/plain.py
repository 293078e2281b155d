"""Strict reading of plain JSON data: whatever has the wrong form is a message that says where."""

from typing import TypeVar

from mf_config.problems import UserError

_Item = TypeVar("_Item")


def member(data: object, name: str, where: str) -> object:
    """One value of a JSON object.

    Args:
        data: what should be a JSON object.
        name: the key looked for.
        where: what is being read, for the message.

    Returns:
        The value under the key.

    Raises:
        UserError: if the data is no object or lacks the key.
    """
    if not isinstance(data, dict) or name not in data:
        raise UserError(f"{where}: no {name!r} in {_shorten(data)}. Allowed: an object with {name!r}.")
    value: object = data[name]
    return value


def list_of(kind: type[_Item], data: object, where: str) -> list[_Item]:
    """A JSON list whose items all have one type.

    Args:
        kind: type of the items.
        data: what should be the list.
        where: what is being read, for the message.

    Returns:
        The items.

    Raises:
        UserError: if the data is no list, or an item has another type.
    """
    if not isinstance(data, list) or not all(isinstance(item, kind) for item in data):
        items = "" if kind is object else f" of {kind.__name__}"
        raise UserError(f"{where}: {_shorten(data)} found. Allowed: a list{items}.")
    return data


def whole_number(data: object, where: str) -> int:
    """A JSON number that is whole and not negative.

    Args:
        data: what should be the number.
        where: what is being read, for the message.

    Returns:
        The number.

    Raises:
        UserError: if the data is something else; `true` is not 1.
    """
    if not isinstance(data, int) or isinstance(data, bool) or data < 0:
        raise UserError(f"{where}: {_shorten(data)} found. Allowed: a whole number, at least 0.")
    return data


def whole_numbers(data: object, where: str) -> tuple[int, ...]:
    """A JSON list of whole numbers that are not negative.

    Args:
        data: what should be the list.
        where: what is being read, for the message.

    Returns:
        The numbers.

    Raises:
        UserError: if the data is something else.
    """
    return tuple(whole_number(item, where) for item in list_of(object, data, where))


def text(data: object, where: str) -> str:
    """A JSON string.

    Args:
        data: what should be the string.
        where: what is being read, for the message.

    Returns:
        The string.

    Raises:
        UserError: if the data is something else.
    """
    if not isinstance(data, str):
        raise UserError(f"{where}: {_shorten(data)} found. Allowed: a string.")
    return data


def _shorten(data: object) -> str:
    shown = repr(data)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."

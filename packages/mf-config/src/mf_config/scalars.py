"""From characters to typed values, by the type of the field that wants them.

YAML 1.1 turns `1e-5` into text, `010` into eight and `1:30` into ninety. Here the field decides: a float field reads
`1e-5` as a float, an integer field refuses `010`, a text field keeps both.
"""

import math
import re
from dataclasses import dataclass

from mf_config.nodes import Scalar, describe_node
from mf_config.suggest import nearest

_INT = re.compile(r"[+-]?[0-9]+(_[0-9]+)*\Z")
_MOST_DIGITS = 40
"""Longer integers are no number of anything; Python itself refuses to read more than 4300 digits."""
_FLOAT = re.compile(r"[+-]?([0-9]+(_[0-9]+)*\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_INFINITE = re.compile(r"[+-]?\.?inf\Z", re.IGNORECASE)
_LEADING_ZERO = re.compile(r"[+-]?0[0-9_]+\Z")
_NULLS = frozenset({"", "~", "null", "Null", "NULL", "None"})
_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})


class ScalarError(ValueError):
    """Text that a field can't take.

    Attributes:
        what: what is wrong, the value quoted.
        allowed: what would do.
        suggestion: the spelling that was probably meant, or an empty string.
    """

    def __init__(self, what: str, allowed: str, suggestion: str = ""):
        """Takes the three parts of the message."""
        super().__init__(what)
        self.what = what
        self.allowed = allowed
        self.suggestion = suggestion


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value and, where its meaning was guessed, what was guessed (else an empty string)."""

    value: bool | int | float | str | None
    guess: str = ""


def is_null(scalar: Scalar) -> bool:
    """Whether the scalar is written without quotation marks and means "not set": nothing, `null`, `~` or `None`."""
    return not scalar.quoted and scalar.text in _NULLS


def means_unset(scalar: Scalar) -> bool:
    """Whether the scalar leaves an optional key unset: as `is_null`, and `""` and `"None"` as real files write them."""
    return scalar.text in _NULLS


def parse_bool(scalar: Scalar) -> Parsed:
    """`true`/`false`, `yes`/`no`, `on`/`off` in any case; in quotation marks with a warning.

    Raises:
        ScalarError: any other word; numbers too, since 0 and 1 are more often a mistake in a boolean key.
    """
    word = scalar.text.lower()
    if word not in _TRUE | _FALSE:
        raise ScalarError(f"{describe_node(scalar)} is not a boolean", "True, False", nearest(word, ("True", "False")))
    return Parsed(word in _TRUE, f"the text {describe_node(scalar)} is taken as a boolean" if scalar.quoted else "")


def parse_int(scalar: Scalar) -> Parsed:
    """A decimal integer, `4_096` included; a whole number in float spelling or quotation marks with a warning.

    Raises:
        ScalarError: fractions, words, and `010` or `1:30`, which YAML 1.1 reads as octal and base 60.
    """
    text = scalar.text
    if _LEADING_ZERO.match(text):
        what = f"{describe_node(scalar)} is ambiguous (octal or decimal?)"
        raise ScalarError(what, "an integer", _without_zeros(text))
    if _INT.match(text) and len(text.replace("_", "")) > _MOST_DIGITS:
        raise ScalarError(f"{describe_node(scalar)} is too large", f"an integer of at most {_MOST_DIGITS} digits")
    if _INT.match(text):
        return Parsed(int(text), f"the text {describe_node(scalar)} is taken as an integer" if scalar.quoted else "")
    number = _float_or_none(text)
    if number is not None and math.isfinite(number) and number == int(number):
        return Parsed(int(number), f"{describe_node(scalar)} is taken as the integer {int(number)}")
    raise ScalarError(f"{describe_node(scalar)} is not an integer", "an integer")


def parse_float(scalar: Scalar) -> Parsed:
    """A number in any usual spelling (`1e-5`, `1.e-5`, `.5`, `3`, `.inf`); in quotation marks with a warning.

    Raises:
        ScalarError: anything else; `.nan` too, since no key has a use for it.
    """
    number = _float_or_none(scalar.text)
    if number is None:
        raise ScalarError(f"{describe_node(scalar)} is not a number", "a number")
    if math.isinf(number) and not _INFINITE.match(scalar.text):
        raise ScalarError(f"{describe_node(scalar)} is too large", "a number up to 1.8e308")
    return Parsed(number, f"the text {describe_node(scalar)} is taken as a number" if scalar.quoted else "")


def parse_text(scalar: Scalar) -> Parsed:
    """The characters as they are."""
    return Parsed(scalar.text)


def parse_untyped(scalar: Scalar) -> Parsed:
    """The value by its own looks, for keys that take any type: not set, boolean, integer, float, else text."""
    if scalar.quoted:
        return Parsed(scalar.text)
    if is_null(scalar):
        return Parsed(None)
    for parse in (parse_bool, parse_int if _INT.match(scalar.text) else parse_float):
        try:
            return parse(scalar)
        except ScalarError:
            continue
    return Parsed(scalar.text)


def _float_or_none(text: str) -> float | None:
    if _INFINITE.match(text):
        return float(text.replace(".", ""))
    return float(text) if _FLOAT.match(text) else None


def _without_zeros(text: str) -> str:
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    return sign + (digits.replace("_", "").lstrip("0") or "0")

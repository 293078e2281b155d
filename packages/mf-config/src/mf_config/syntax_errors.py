"""What PyYAML's syntax errors mean, in the words of a person who edits a run configuration."""

import re

import yaml

from mf_config.nodes import describe_place
from mf_config.problems import ConfigError, Location, Problem

_CANT_START = re.compile(r"found character '(.+)' that cannot start any token\Z")
_QUOTES = "quotation marks around the value"
_FITS_NOWHERE = ("the indentation fits no section above", "as many spaces as the other keys of the section")

_MEANINGS = (
    (
        r"mapping values are not allowed here",
        "a colon is not expected here: the line is indented wrongly, or the value before it has one",
        "one key a line, or quotation marks around a value with a colon",
    ),
    (
        r"sequence entries are not allowed here",
        "a dash is not expected here",
        "each item of a list on a line of its own",
    ),
    (r"could not find expected ':'", "a colon is missing, or this text belongs to the value above", "`key: value`"),
    (r"expected <block end>, but found '<scalar>'", "text follows a complete value", _QUOTES),
    (r"expected <block end>, but found '[,}\]]'", "a bracket or comma is not expected here", _QUOTES),
    (r"expected <block end>", *_FITS_NOWHERE),
    (r"expected ',' or '\]'", "a comma or the closing ] is missing", "[first, second]"),
    (r"expected ',' or '}'", "a comma or the closing } is missing", "{key: value, key: value}"),
    (r"found unexpected (end of stream|document separator)", "a quotation mark is never closed", ""),
    (
        r"found unknown escape character|expected escape sequence",
        "a backslash in double quotation marks begins an escape sequence",
        "single quotation marks around text with backslashes",
    ),
)
"""Beginnings of PyYAML's words, what is wrong and what is allowed."""

_AT_CONTEXT = "while scanning a simple key"
"""Context of an error that PyYAML notices only on the line after the one to blame."""


def single(location: Location, what: str, allowed: str = "", suggestion: str = "") -> ConfigError:
    """The error for a file that can't be read on: one problem that concerns no key."""
    return ConfigError([Problem(location, "", what, allowed, suggestion)])


def place_of(text: str, index: int, name: str) -> Location:
    """Where the character of an index stands; `name` is the file."""
    lines = (text[:index] + ".").splitlines()
    return Location(name, len(lines), len(lines[-1]))


def explain_syntax(error: yaml.MarkedYAMLError, text: str, name: str) -> ConfigError:
    """The error of a user for an error of PyYAML.

    Args:
        error: what PyYAML raised.
        text: what it read.
        name: stands for the file in messages.
    """
    mark = error.context_mark if error.context == _AT_CONTEXT else error.problem_mark or error.context_mark
    if mark is None:
        return single(Location(name, 0), *_meaning(error, ""))
    lines = text.splitlines()
    written = lines[mark.line] if mark.line < len(lines) else ""
    place = Location(name, mark.line + 1, mark.column + 1)
    what, allowed = _meaning(error, written)
    start = error.context_mark
    if start and start.line != mark.line:
        what += f" (in what begins at {describe_place(Location(name, start.line + 1, start.column + 1))})"
    return single(place, what, allowed)


def _meaning(error: yaml.MarkedYAMLError, written: str) -> tuple[str, str]:
    """What is wrong with the line and what is allowed."""
    problem = error.problem or "malformed"
    character = _CANT_START.match(problem)
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return "a tab indents this line", "spaces only"
    if character and character[1] == "\\t":
        return "a tab stands where only spaces may separate", "spaces only"
    if character:
        return f"a value can't begin with {character[1]}", _QUOTES
    for beginning, what, allowed in _MEANINGS:
        if re.match(beginning, problem):
            return what, allowed
    return f"not valid YAML: {problem}", ""

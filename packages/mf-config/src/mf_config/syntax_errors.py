"""What PyYAML's syntax errors mean, in the words of a person who edits a run configuration."""

import re

import yaml

from mf_config.problems import ConfigError, Location, Problem

_CANT_START = re.compile(r"found character '(.+)' that cannot start any token\Z")
_QUOTES = "quotation marks around the value"

_MEANINGS = {
    "mapping values are not allowed here": (
        "a colon is not expected here: the line is indented wrongly, or the value before it has one",
        "one key a line, or quotation marks around a value with a colon",
    ),
    "but found another document": ("a second document begins here", "one document a file"),
    "expected <block end>, but found '<block mapping start>'": (
        "the indentation fits no section above",
        "as many spaces as the other keys of the section",
    ),
    "expected <block end>, but found '<scalar>'": ("text follows a complete value", _QUOTES),
    "second occurrence": ("an anchor of this name stands above", "a name of its own for each anchor"),
    "found unexpected end of stream": ("a quotation mark is never closed", ""),
}
"""PyYAML's words to what is wrong and what is allowed."""


def single(location: Location, what: str, allowed: str = "", suggestion: str = "") -> ConfigError:
    """The error for a file that can't be read on: one problem that concerns no key."""
    return ConfigError([Problem(location, "", what, allowed, suggestion)])


def explain_syntax(error: yaml.MarkedYAMLError, text: str, name: str) -> ConfigError:
    """The error of a user for an error of PyYAML.

    Args:
        error: what PyYAML raised.
        text: what it read.
        name: stands for the file in messages.
    """
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    lines = text.splitlines()
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    return single(Location(name, line), *_meaning(error, written))


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
    what, allowed = _MEANINGS.get(problem, (f"not valid YAML: {problem}", ""))
    if error.context_mark and (error.context or "").startswith("while"):
        what += f" (in what begins at line {error.context_mark.line + 1})"
    return what, allowed

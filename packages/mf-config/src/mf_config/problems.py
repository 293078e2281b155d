"""What is wrong with a configuration, and where: one `Problem` a mistake, `ConfigError` for all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

_MOST_ALLOWED = 12
"""A longer list of allowed values hides the one that was meant."""


class Severity(Enum):
    """How much a problem matters.

    An error makes the file invalid. A blocker leaves it valid, but a run can't start: something is still to be filled
    in, or this version can't do what is asked. A warning says what was guessed, a note what has no effect.
    """

    ERROR = "error"
    BLOCKER = "blocks the run"
    WARNING = "warning"
    NOTE = "note"

    @property
    def noun(self) -> str:
        """The word that counts problems of this severity."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """Where a value was written.

    Attributes:
        file: a file, or what stands for the command line.
        line: counted from 1; 0 where there is no line.
        column: counted from 1; 0 where it is not known. Messages that speak of two places on one line name it.
    """

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        """`file:line`, or the file alone where there is no line."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake (or doubt) about one key.

    Attributes:
        location: file and line of the value.
        path: dotted key path, `runner_config.epochs`; empty for the file as a whole.
        what: what is wrong, with the value found.
        allowed: what would be right, without the word "Allowed"; empty where there is nothing to say.
        suggestion: the nearest valid spelling; empty where nothing is near.
        severity: error, blocker, warning or note.
        rule: id of the rule that found it; empty where a single key is wrong.
    """

    location: Location
    path: str
    what: str
    allowed: str = ""
    suggestion: str = ""
    severity: Severity = Severity.ERROR
    rule: str = ""

    def __str__(self) -> str:
        """`file:line: key.path: what is wrong. Allowed: … Did you mean …?`."""
        parts = [str(self.location)]
        if self.path:
            parts.append(self.path)
        if self.severity is not Severity.ERROR:
            parts.append(self.severity.value)
        text = f"{': '.join(parts)}: {self.what}."
        if self.allowed:
            text += f" Allowed: {self.allowed}."
        if self.suggestion:
            text += f" Did you mean {self.suggestion}?"
        return text

    def as_json(self) -> dict[str, str | int]:
        """The same as plain data, for `--json`."""
        return {
            "file": self.location.file,
            "line": self.location.line,
            "column": self.location.column,
            "path": self.path,
            "what": self.what,
            "allowed": self.allowed,
            "suggestion": self.suggestion,
            "severity": self.severity.noun,
            "rule": self.rule,
        }


class UserError(ValueError):
    """A mistake of the person at the terminal: programs print its text, without a traceback, and exit with status 2."""


class ConfigError(UserError):
    """A configuration that can't be used; `problems` holds every mistake in it, in the order of the lines."""

    def __init__(self, problems: Sequence[Problem]):
        """Takes the problems found, errors among them; the text is one line a problem."""
        self.problems = tuple(in_line_order(problems))
        lines = [str(problem) for problem in self.problems]
        super().__init__("\n".join([*lines, summarize(self.problems)] if len(lines) > 1 else lines))


def in_line_order(problems: Iterable[Problem]) -> list[Problem]:
    """The problems without repetitions, sorted by file, line and key path."""
    return sorted(dict.fromkeys(problems), key=lambda problem: (problem.location, problem.path))


def errors_in(problems: Iterable[Problem]) -> list[Problem]:
    """Only the problems that make a file invalid."""
    return [problem for problem in problems if problem.severity is Severity.ERROR]


def blockers_in(problems: Iterable[Problem]) -> list[Problem]:
    """Only the problems that keep a valid file from being run."""
    return [problem for problem in problems if problem.severity is Severity.BLOCKER]


def summarize(problems: Sequence[Problem]) -> str:
    """How many problems of each severity there are, and in which files: `3 errors, 1 warning in run.yaml`."""
    counts = {severity: sum(problem.severity is severity for problem in problems) for severity in Severity}
    texts = [f"{count} {severity.noun}{'s' if count > 1 else ''}" for severity, count in counts.items() if count]
    return f"{', '.join(texts) or 'no problems'} in {name_values(sorted({p.location.file for p in problems}))}"


def name_values(values: Iterable[object]) -> str:
    """Join allowed values for a message, at most twelve of them."""
    texts = [str(value) for value in values]
    rest = len(texts) - _MOST_ALLOWED
    return ", ".join(texts[:_MOST_ALLOWED]) + (f" and {rest} more" if rest > 0 else "")

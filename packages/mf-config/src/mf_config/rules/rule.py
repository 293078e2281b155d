"""What a rule is, and what it sees of a configuration."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mf_config.problems import Location, Problem, Severity
from mf_config.schema import TRAIN_MODES
from mf_config.sections.run import RunConfig


@dataclass(frozen=True, slots=True)
class Checked:
    """What a rule sees.

    Attributes:
        config: the decoded configuration; keys that can't be read have their defaults.
        places: dotted path to the place of each key in the file.
        unchecked: paths of the sections that no installed package can check.
        unread: paths of the keys that can't be read; rules that speak of them wait until they can.
        file: the file's name.
    """

    config: RunConfig
    places: Mapping[str, Location]
    unchecked: frozenset[str]
    unread: frozenset[str]
    file: str

    @property
    def trains(self) -> bool:
        """Whether the run moves weights."""
        return self.config.run_mode in TRAIN_MODES

    @property
    def evaluates(self) -> bool:
        """Whether the run evaluates, by itself or while training."""
        return self.config.run_mode == "eval" or (self.trains and self.config.do_eval)

    def is_missing(self, path: str) -> bool:
        """Whether the file leaves a key unset; a section that could not be checked or read is there all the same."""
        value: object = self.config
        walked = ""
        for name in path.split("."):
            value = getattr(value, name, None)
            walked = f"{walked}.{name}" if walked else name
            if value is None:
                return walked not in self.unchecked and not any(_lies_in(unread, walked) for unread in self.unread)
        return False

    def is_written(self, path: str) -> bool:
        """Whether the key stands in the file."""
        return path in self.places

    def model(self, name: str) -> Any:
        """A fact of the model's section (`num_heads`, `seq_length`); None where the family doesn't have it."""
        return getattr(self.config.model.model_config, name, None)

    def place(self, path: str) -> Location:
        """Where a key stands, or its nearest written parent, or the file."""
        while path and path not in self.places:
            path = path.rpartition(".")[0]
        return self.places.get(path, Location(self.file, 0))


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule has to say about one key.

    Attributes:
        path: dotted path of the key.
        what: what is wrong, with the values found.
        allowed: what would be right; empty where there is nothing to say.
        suggestion: what was probably meant, or an empty text.
    """

    path: str
    what: str
    allowed: str = ""
    suggestion: str = ""


def _lies_in(path: str, section: str) -> bool:
    """Whether a path is a section or one of the keys in it."""
    return path == section or path.startswith((f"{section}.", f"{section}["))


Check = Callable[[Checked], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that several keys have to meet together.

    Attributes:
        id: its name in `explain` and in JSON.
        severity: how much a breach matters.
        keys: the keys that it speaks of.
        doc: the condition in a sentence.
        check: finds the breaches.
    """

    id: str
    severity: Severity
    keys: tuple[str, ...]
    doc: str
    check: Check

    def problems(self, checked: Checked) -> Iterator[Problem]:
        """The breaches of a configuration, each at its place; none where a key that the rule needs can't be read."""
        if any(self._needs(path) for path in checked.unread):
            return
        for found in self.check(checked):
            place = checked.place(found.path)
            yield Problem(place, found.path, found.what, found.allowed, found.suggestion, self.severity, self.id)

    def _needs(self, unread: str) -> bool:
        """Whether an unread key lies in a section that the rule speaks of; every rule needs the run mode."""
        for key in self.keys:
            section = key.rpartition(".")[0] or key
            if _lies_in(unread, section) or _lies_in(section, unread):
                return True
        return unread == "run_mode"


def rule(name: str, severity: Severity, *keys: str) -> Callable[[Check], Rule]:
    """Make a rule of a function whose docstring states the condition.

    Args:
        name: the rule's id.
        severity: how much a breach matters.
        *keys: dotted paths of the keys that it speaks of.
    Returns:
        A decorator.
    """

    def make(check: Check) -> Rule:
        assert check.__doc__, f"rule {name} needs a docstring"
        return Rule(name, severity, keys, " ".join(check.__doc__.split()), check)

    return make

"""Rewrites an older run configuration in the canonical form, rule by rule, and tells what was done."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import yaml

from mf_config.migration.edits import edit
from mf_config.migration.placing import RefusedError
from mf_config.migration.rule import Add, Move, Renaming, Rule, Value, matches, show_path
from mf_config.migration.rules import RULES
from mf_config.migration.text import Text
from mf_config.migration.tree import Entry, Tree
from mf_config.problems import ConfigError, Location
from mf_config.yaml_reader import read_text


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that was done, or that is left to a person.

    Attributes:
        location: file and line of the key in the original text.
        path: dotted path of the key.
        what: what was done, or why it could not be.
        rule: the rule behind it.
        by_hand: whether it is left to a person.
    """

    location: Location
    path: str
    what: str
    rule: Rule
    by_hand: bool = False

    def __str__(self) -> str:
        """`old.yaml:12: parallel_config.optimizer_shard -> … (since 0.7): why`."""
        if self.by_hand:
            return f"{self.location}: {self.what}"
        period = f" ({self.rule.period})" if self.rule.period else ""
        return f"{self.location}: {self.what}{period}: {self.rule.why}"

    def as_json(self) -> dict[str, str | int]:
        """The same as plain data, for `--json`."""
        return {
            "file": self.location.file,
            "line": self.location.line,
            "path": self.path,
            "what": self.what,
            "since": self.rule.since,
            "later": self.rule.later,
            "why": self.rule.why,
        }


@dataclass(frozen=True, slots=True)
class Migration:
    """The result.

    Attributes:
        text: the migrated text.
        changes: what was done, in the order of the lines.
        refused: what a person must do, in the order of the lines.
    """

    text: str
    changes: tuple[Note, ...]
    refused: tuple[Note, ...]


def migrate_text(text: str, name: str, rules: Iterable[Rule] = RULES) -> Migration:
    """Rewrite older forms in a run configuration; everything else keeps its characters.

    Args:
        text: the file's characters, without byte-order mark.
        name: stands for the file in the notes.
        rules: what to look for, in this order.
    Returns:
        The new text with notes. Migrating it again changes nothing.
    Raises:
        ConfigError: the text is not sound YAML; a key written twice and aliases of absurd size count too.
    """
    reading = read_text(text, name)
    if reading.problems:
        raise ConfigError(reading.problems)
    run = _Run(name, text)
    run.apply_all(tuple(rules))
    in_order = [sorted(notes, key=lambda note: note.location) for notes in (run.changes, run.refused)]
    return Migration(run.text.whole, tuple(in_order[0]), tuple(in_order[1]))


class _Run:
    """One migration under way: the text, its tree, and the notes so far."""

    def __init__(self, name: str, text: str):
        self.text = Text.of(text)
        self.changes: list[Note] = []
        self.refused: list[Note] = []
        self._name = name
        self._tree = Tree(text)

    def apply_all(self, rules: tuple[Rule, ...]) -> None:
        """Apply all rules until none of them finds anything to do: one may make room for another before it."""
        done = -1
        while len(self.changes) > done:
            done = len(self.changes)
            self.refused.clear()
            for rule in rules:
                self._apply(rule)

    def _apply(self, rule: Rule) -> None:
        """Apply a rule wherever it holds: one edit at a time, each on a freshly parsed text."""
        tried: set[tuple[int, str]] = set()
        while entry := next((found for found in self._candidates(rule) if self._key(found) not in tried), None):
            tried.add(self._key(entry))
            location = Location(self._name, self._key(entry)[0])
            try:
                self._check_paths(rule, entry)
                self.text, self._tree, done = edit(self._tree, self.text, rule, entry)
            except RefusedError as error:
                what = f"{entry.shown}: {_wanted(rule)} by hand: {error}."
                self.refused.append(Note(location, entry.shown, what, rule, by_hand=True))
            else:
                self.changes.append(Note(location, entry.shown, done, rule))

    def _candidates(self, rule: Rule) -> Iterator[Entry]:
        """The entries that a rule concerns, in the order of the text."""
        pattern = rule.pattern[:-1] if isinstance(rule, Add) else rule.pattern
        for entry in self._tree.named(pattern[-1]):
            if any(matches(pattern, path) for path in entry.paths) and self._holds(rule, entry):
                yield entry

    def _holds(self, rule: Rule, entry: Entry) -> bool:
        """Whether the rule's condition is met."""
        if isinstance(rule, Value) and not (isinstance(entry.value, yaml.ScalarNode) and entry.value.value == rule.old):
            return False
        if isinstance(rule, Add) and not (
            isinstance(entry.value, yaml.MappingNode) and self._tree.entry(entry.value, rule.pattern[-1]) is None
        ):
            return False
        if rule.when is None:
            return True
        path = tuple(rule.when.key.split("."))
        found = self._tree.at(path) if len(path) > 1 else self._tree.entry(entry.section, rule.when.key)
        text = str(found.value.value) if found and isinstance(found.value, yaml.ScalarNode) else ""
        return text in rule.when.among

    def _check_paths(self, rule: Rule, entry: Entry) -> None:
        """Refuse to touch a section that is used elsewhere too, where the rule does not hold."""
        pattern = rule.pattern[:-1] if isinstance(rule, Add) else rule.pattern
        other = next((path for path in entry.paths if not matches(pattern, path)), None)
        if other:
            raise RefusedError(f"the section is shared with {show_path(other)}")
        if isinstance(rule, Move) and len(entry.paths) > 1:
            raise RefusedError(f"the section is shared with {show_path(entry.paths[1])}")

    def _key(self, entry: Entry) -> tuple[int, str]:
        return self.text.lines[entry.key.start_mark.line].number, entry.shown


def _wanted(rule: Rule) -> str:
    """What a person is asked to do."""
    if isinstance(rule, Renaming | Value):
        return f"write {show_path(tuple(rule.new.split('.')))}"
    return f"add {rule.pattern[-1]}: {rule.text}" if isinstance(rule, Add) else "remove it"

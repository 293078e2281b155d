"""What a migration may do to a configuration, as data: a rule says where, what and why, and knows no text.

A path is dotted: `parallel_config.optimizer_shard`. `**` stands for any number of keys, `[]` for any item of a list and
`[Name]` for the item whose `type` is Name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

KeyPath = tuple[str, ...]
"""Keys from the top of the file; an item of a list is `[Name]` by its type, `[]` where it has none."""


@dataclass(frozen=True, slots=True)
class When:
    """A condition on another key.

    Attributes:
        key: a key of the same section, or a dotted path from the top of the file.
        among: texts of its value for which the rule holds; an empty text stands for an absent key.
    """

    key: str
    among: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """What all rules have.

    Attributes:
        path: the key that it concerns.
        why: the reason, for the person who reads the report.
        since: the MindFormers release that introduced the canonical form; empty for a misspelling of any time.
        later: the release from which newer files write the form that is replaced; empty for an older form.
        when: a condition, or None.
    """

    path: str
    why: str = field(kw_only=True)
    since: str = field(default="", kw_only=True)
    later: str = field(default="", kw_only=True)
    when: When | None = field(default=None, kw_only=True)

    @property
    def pattern(self) -> KeyPath:
        """The path in parts."""
        return tuple(self.path.split("."))

    @property
    def period(self) -> str:
        """When the two forms parted, as the report says it."""
        if self.later:
            return f"the form of {self.later} and later"
        return f"since {self.since}" if self.since else ""


@dataclass(frozen=True, slots=True)
class Renaming(Rule):
    """What `Rename` and `Move` have in common.

    Attributes:
        new: the new name, or the new path.
        values: old value to new value, where those changed too; a value that is not named can't be migrated.
    """

    new: str
    values: Mapping[str, str] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class Rename(Renaming):
    """Another name in the same section."""


@dataclass(frozen=True, slots=True)
class Move(Renaming):
    """Another section, and possibly another name there; sections that are missing are made.

    Attributes:
        new_wins: whether the new key decides where the file has both with different values, because upstream reads it
            alone.
    """

    new_wins: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Value(Rule):
    """Another spelling of one value.

    Attributes:
        old: text of the value that is replaced.
        new: what replaces it.
    """

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Remove(Rule):
    """A key without effect."""


@dataclass(frozen=True, slots=True)
class Add(Rule):
    """A key that used to be implied; its section must be there.

    Attributes:
        text: the value as it is written.
    """

    text: str


def matches(pattern: KeyPath, path: KeyPath) -> bool:
    """Whether a rule's pattern describes the path of a key."""
    if not pattern or not path:
        return pattern == path
    if pattern[0] == "**":
        return any(matches(pattern[1:], path[start:]) for start in range(len(path) + 1))
    same = pattern[0] == path[0] or (pattern[0] == "[]" and path[0].startswith("["))
    return same and matches(pattern[1:], path[1:])


def show_path(path: KeyPath) -> str:
    """The path as messages write it: `callbacks[ObsMonitor].keep_last`."""
    return ".".join(path).replace(".[", "[")

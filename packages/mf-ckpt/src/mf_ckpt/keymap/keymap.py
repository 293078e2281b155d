"""The table that translates between the tensor names (and forms) of two programs, in both directions.

A model family supplies the rows; nothing here knows a family.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mf_ckpt.keymap.rows.row import Row
from mf_ckpt.sources.source import some
from mf_config.problems import UserError
from mf_config.suggest import nearest

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_NUMBER = re.compile("([0-9]+)")


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a row, with real names in place of patterns.

    Attributes:
        sources: names of the tensors that the row takes, in order.
        targets: names of the tensors that it gives, in order.
        row: the row.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    row: Row


class KeyMap:
    """An ordered, invertible table of rows.

    Example:
        keys = KeyMap([Rename("layers.{layer}.attention.wq.weight", "model.layers.{layer}.self_attn.q_proj.weight")])
        keys.forward("layers.3.attention.wq.weight")  # model.layers.3.self_attn.q_proj.weight

    Attributes:
        rows: the rows, in their order.
    """

    def __init__(self, rows: Iterable[Row]):
        """Takes the rows.

        Raises:
            ValueError: a row whose names don't have the same placeholders, a placeholder that touches a digit or
                another one (where the number ends would be a guess), or a pattern that two rows share.
        """
        self.rows = tuple(rows)
        for row in self.rows:
            _check_row(row)
        _check_distinct(pattern for row in self.rows for pattern in row.sources)
        _check_distinct(pattern for row in self.rows for pattern in row.targets)
        # A name is looked up, not compared with every pattern: a stack of 256 experts has as many.
        self._by_form: dict[str, tuple[str, Row]] = {}
        self._places: dict[str, set[frozenset[int]]] = {}
        for row in self.rows:
            for pattern in row.sources:
                self._by_form[_PLACEHOLDER.sub("{}", pattern)] = (pattern, row)
                self._places.setdefault(_skeleton(pattern), set()).add(_placeholder_places(pattern))

    def __repr__(self) -> str:
        """All rows: maps that do the same have the same text."""
        return f"KeyMap({list(self.rows)})"

    @cached_property
    def inverse(self) -> "KeyMap":
        """The table that undoes this one."""
        inverse = KeyMap(row.inverse() for row in self.rows)
        inverse.__dict__["inverse"] = self
        return inverse

    def forward(self, name: str) -> str:
        """The target name of a source tensor.

        Args:
            name: a source name, such as `layers.3.attention.wq.weight`.

        Returns:
            The name of the tensor that it becomes, or becomes part of.

        Raises:
            UserError: no row takes that name; the nearest pattern is suggested.
            ValueError: two rows take it, or it is split into several tensors: use `steps`.
        """
        targets = self._step(name).targets
        if len(targets) != 1:
            raise ValueError(f"{name!r} becomes {len(targets)} tensors: {', '.join(targets)}")
        return targets[0]

    def backward(self, name: str) -> str:
        """The source name of a target tensor; arguments and errors as for `forward`, with the sides exchanged."""
        return self.inverse.forward(name)

    def covers(self, name: str) -> bool:
        """Whether a row takes a source tensor of that name."""
        return bool(self._matches(name))

    def steps(self, names: Iterable[str]) -> list[Step]:
        """What has to be done to translate a whole set of tensors.

        Args:
            names: all source names.

        Returns:
            One step for each row and set of numbers, in the order of the first name of each; together they take every
            name once.

        Raises:
            UserError: names that no row takes, all of them in one message; or a step that lacks some of its sources.
        """
        names = dict.fromkeys(names)
        unmatched = [name for name in names if not self._matches(name)]
        if unmatched:
            raise UserError(
                f"{len(unmatched)} tensors match no row of the key map: {some(unmatched)}.{self._hint(unmatched[0])}"
            )
        found = {step.sources: step for step in map(self._step, names)}
        missing = [name for step in found.values() for name in step.sources if name not in names]
        if missing:
            raise UserError(f"{len(missing)} tensors are missing beside others of their row: {some(missing)}")
        return list(found.values())

    def _step(self, name: str) -> Step:
        matches = self._matches(name)
        if not matches:
            raise UserError(f"tensor {name!r} matches no row of the key map.{self._hint(name)}")
        if len(matches) > 1:
            raise ValueError(f"{len(matches)} rows take tensor {name!r}")
        row, numbers = matches[0]
        return Step(_fill(row.sources, numbers), _fill(row.targets, numbers), row)

    def _matches(self, name: str) -> list[tuple[Row, dict[str, str]]]:
        """The rows that take a name, each with the numbers that stand for its placeholders."""
        pieces = _NUMBER.split(name)
        found = []
        for places in self._places.get(_skeleton(name), ()):
            numbers = [pieces[place] for place in sorted(places)]
            form = "".join("{}" if place in places else piece for place, piece in enumerate(pieces))
            # No leading zeros: `layers.01` would come back as `layers.1`.
            if form in self._by_form and all(number == str(int(number)) for number in numbers):
                pattern, row = self._by_form[form]
                found.append((row, dict(zip(_PLACEHOLDER.findall(pattern), numbers, strict=True))))
        return found

    def _hint(self, name: str) -> str:
        patterns = {_skeleton(pattern): pattern for row in self.rows for pattern in row.sources}
        guess = nearest(_skeleton(name), patterns)
        return f" Did you mean {patterns[guess]}?" if guess else ""


def _check_row(row: Row) -> None:
    patterns = (*row.sources, *row.targets)
    placeholders = [sorted(_PLACEHOLDER.findall(pattern)) for pattern in patterns]
    unequal = any(words != placeholders[0] or len(set(words)) < len(words) for words in placeholders)
    if unequal or not row.sources or not row.targets:
        raise ValueError(f"every name of {row} must have the same placeholders, each once")
    if any(re.search("[{}]", _PLACEHOLDER.sub("", pattern)) for pattern in patterns):
        raise ValueError(f"{row} has a brace outside a placeholder such as {{layer}}")
    if any(re.search(r"[0-9}]\{|\}[0-9{]", pattern) for pattern in patterns):
        raise ValueError(f"a placeholder of {row} touches a digit or another placeholder")


def _check_distinct(patterns: Iterable[str]) -> None:
    seen: set[str] = set()
    for pattern in patterns:
        anonymous = _PLACEHOLDER.sub("{}", pattern)
        if anonymous in seen:
            raise ValueError(f"two rows have {pattern!r} on the same side")
        seen.add(anonymous)


def _skeleton(text: str) -> str:
    """A name or pattern without its numbers and placeholders: equal wherever a pattern matches a name."""
    return re.sub("[0-9]+", "#", _PLACEHOLDER.sub("#", text))


def _placeholder_places(pattern: str) -> frozenset[int]:
    """Which pieces of a name, cut at its numbers, the placeholders stand for."""
    pieces = re.split(r"([0-9]+|\{[a-z_]+\})", pattern)
    return frozenset(place for place, piece in enumerate(pieces) if piece.startswith("{"))


def _fill(patterns: Sequence[str], numbers: dict[str, str]) -> tuple[str, ...]:
    return tuple(_PLACEHOLDER.sub(lambda match: numbers[match[1]], pattern) for pattern in patterns)

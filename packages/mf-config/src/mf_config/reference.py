"""The reference page of all keys, as Markdown: `mf-config schema --markdown` prints it; see docs/configuration.md."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.describe import describe_allowed, describe_default, describe_remarks
from mf_config.outline import Entry, Part, parts
from mf_config.rules import RULES

_HEAD = """# Configuration reference

Every key of a run configuration, made from the schema by `mf-config schema --markdown`. A component is a section that
is chosen by its key `type` (or the key that its heading names); the keys of each type follow under its names. A key
that a file leaves out has its default.

What "has no effect" is accepted, and `mf-config validate -v` says so. What "can't be run yet" is checked completely and
passes validation; a run that would need it is refused before it starts.
"""
_COLUMNS = "| key | type | default | allowed | meaning |\n|---|---|---|---|---|"
_RULE_COLUMNS = "| rule | keys | what it checks | severity |\n|---|---|---|---|"

_SHARED = 0.5
"""Share of a table's rows up to which it is told as the difference from another table."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The keys of one section class, with every place where it may stand."""

    part: Part
    places: list[str]

    @property
    def rows(self) -> dict[str, str]:
        """Name of each key to its row."""
        return {entry.name: _row(entry) for entry in self.part.entries}

    @property
    def names(self) -> tuple[str, ...]:
        """The types of the component that it is, or that it lies in; none for a section that every file may have."""
        part: Part | None = self.part
        while part and not part.tag:
            part = part.parent.part if part.parent else None
        return part.tag.names if part and part.tag else ()

    @property
    def heading(self) -> str:
        """What tells it from the other tables of its chapter."""
        names = " or ".join(self.names)
        return f"{self.part.chooser}: {names}" if self.part.tag else f"in a section with type {names}"


def reference_page() -> str:
    """The page: contents, the keys of each section, those of each component of a kind, and the rules."""
    groups = _groups()
    contents = [f"* [{title}](#{_anchor(title)})" for title in (*groups, "Rules")]
    chapters = [chapter for title, tables in groups.items() for chapter in _chapter(title, tables)]
    return "\n".join([_HEAD, *contents, "", *chapters, *_rules()]) + "\n"


def _groups() -> dict[str, list[_Table]]:
    """Title of each chapter to its tables: one for a plain section, one a component for all sections of a kind."""
    tables: dict[type, _Table] = {}
    for part in parts():
        tables.setdefault(part.owner, _Table(part, [])).places.append(part.path)
    kinds: dict[str, list[str]] = {}
    for table in tables.values():
        if table.part.tag:
            places = kinds.setdefault(table.part.tag.kind, [])
            places += [place for place in table.places if place not in places]
    groups: dict[str, list[_Table]] = {}
    for table in tables.values():
        first = (kinds[table.part.tag.kind] if table.part.tag else table.places)[0]
        groups.setdefault(f"`{first}`" if first else "Top level", []).append(table)
    return groups


def _anchor(title: str) -> str:
    """The name that a heading has in links to it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _chapter(title: str, tables: list[_Table]) -> Iterator[str]:
    yield f"## {title}\n"
    places = [f"`{place}`" for place in dict.fromkeys(place for table in tables for place in table.places)]
    if len(places) > 1:
        yield f"Stands at {', '.join(places)}.\n"
    whole: list[_Table] = []
    for table in tables:
        if table.part.tag or len(tables) > 1:
            yield f"### {table.heading}\n"
        yield from _introduction(table.part)
        base = min(whole, key=lambda other: len(_differences(table, other)), default=None)
        if base is None or len(_differences(table, base)) > _SHARED * len(table.rows) or not table.rows:
            whole.append(table)
            yield from _lines(list(table.rows.values()))
        else:
            yield from _difference(table, base)


def _introduction(part: Part) -> Iterator[str]:
    yield part.doc + "\n"
    if part.tag and part.tag.inert:
        yield f"Has no effect: {part.tag.inert}.\n"
    if part.tag and part.tag.pending:
        yield f"Can't be run yet: {part.tag.pending}.\n"


def _differences(table: _Table, base: _Table) -> list[str]:
    """The names of the keys that only one of two tables has, or that they tell differently."""
    mine, others = table.rows, base.rows
    return [name for name in dict.fromkeys([*mine, *others]) if mine.get(name) != others.get(name)]


def _difference(table: _Table, base: _Table) -> Iterator[str]:
    """A table that repeats another one but for a few rows."""
    different = _differences(table, base)
    rows = [table.rows[name] for name in different if name in table.rows]
    gone = [f"`{name}`" for name in different if name not in table.rows]
    without = f" without {', '.join(gone)}" if gone else ""
    yield f"As {base.names[0]}{without}{', and:' if rows else '.'}\n"
    if rows:
        yield from _lines(rows)


def _lines(rows: list[str]) -> list[str]:
    return [_COLUMNS, *rows, ""] if rows else ["It has no keys.", ""]


def _row(entry: Entry) -> str:
    key = entry.key
    remarks = [key.doc]
    remarks += [f"Read in run modes {', '.join(key.modes)}."] if key.modes else []
    remarks += [f"{heading[0].upper()}{heading[1:]}: {text}." for heading, text in describe_remarks(key)]
    cells = (entry.type_text, describe_default(entry.default), describe_allowed(key), " ".join(remarks))
    return f"| `{entry.name}` | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _rules() -> Iterator[str]:
    yield "## Rules\n\nChecks that speak of several keys at once.\n"
    yield _RULE_COLUMNS
    for rule in RULES:
        keys = ", ".join(f"`{name}`" for name in rule.keys)
        yield f"| `{rule.id}` | {keys} | {rule.doc} | {rule.severity.noun} |"

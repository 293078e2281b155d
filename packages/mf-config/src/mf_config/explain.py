"""What a key, a component or a rule is, in a few lines: `mf-config explain NAME` prints it."""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from mf_config.describe import describe_allowed, describe_default, describe_remarks
from mf_config.nodes import join_path
from mf_config.outline import Entry, Part, parts, sections_in
from mf_config.problems import UserError
from mf_config.rules import RULES, Rule
from mf_config.schema import REQUIRED, TYPE_KEY, tag_of
from mf_config.suggest import nearest

Subject = Entry | Part | Rule
"""What can be explained: a key, a component (at one of the places where it may stand), a rule."""

_INDEX = re.compile(r"\[\d*\]|\.\d+(?=\.|$)")
"""The marks of a list in a path: `callbacks[]`, `callbacks[0]` and, as in overrides, `callbacks.0`."""

_MOST_NEAR = 5


def find(name: str) -> list[Subject]:
    """What a name means.

    Args:
        name: a dotted path (`runner_config.epochs`), with or without the marks of lists; the last part of one
            (`epochs`), which may stand in several sections; the type of a component (`AdamW`); the id of a rule.
    Returns:
        At least one key, component or rule, in schema order.
    Raises:
        UserError: there is nothing of this name; names what is near.
    """
    wanted = _INDEX.sub("", name)
    sections = list(parts())
    keys = [(_INDEX.sub("", entry.path), entry) for part in sections for entry in part.entries]
    found: list[Subject] = [entry for path, entry in keys if path == wanted]
    found = found or [entry for _, entry in keys if entry.name == wanted]
    # `optimizer.type` is no key of its own: what it chooses is told with the section that it chooses for.
    choosers = {_INDEX.sub("", join_path(part.path, part.chooser)): part.parent for part in sections if part.tag}
    found += [parent for path, parent in choosers.items() if path == wanted and parent]
    found += [part for part in sections if part.tag and wanted in part.tag.names]
    found += [rule for rule in RULES if rule.id == wanted]
    if not found:
        types = [type_name for part in sections if part.tag for type_name in part.tag.names]
        paths = [path for path, _ in keys]
        choices = [*paths, *(entry.name for _, entry in keys), *types, *(rule.id for rule in RULES)]
        raise UserError(f"{name}: no key, type or rule has this name.{_hint(wanted, list(dict.fromkeys(choices)))}")
    return found


def explain(name: str) -> str:
    """The explanation of everything that a name means, as text for a terminal. Raises as `find` does."""
    places: dict[str, list[str]] = {}
    for subject in find(name):
        title, body = _text(subject)
        # The same key of many components, or the same component at many places, is explained once.
        places.setdefault("\n".join(f"  {line}" for line in body), []).append(title)
    return "\n\n".join("\n".join([*dict.fromkeys(titles), body]) for body, titles in places.items())


def as_json(subject: Subject) -> dict[str, object]:
    """An explanation as plain data."""
    if isinstance(subject, Part):
        return _component_as_json(subject)
    if isinstance(subject, Rule):
        return {"rule": subject.id, "doc": subject.doc, "severity": subject.severity.noun, "keys": list(subject.keys)}
    key = subject.key
    return {
        "path": subject.path,
        "component": list(subject.component),
        "doc": key.doc,
        "type": subject.type_text,
        "default": None if subject.default is REQUIRED else describe_default(subject.default),
        "required": subject.default is REQUIRED,
        "allowed": describe_allowed(key),
        "modes": list(subject.modes),
        "unit": key.unit,
        "mindspore": key.mindspore,
        "needs": key.needs,
        "inert": subject.inert,
        "inert_on": dict(key.inert_on),
        "pending": subject.pending,
        "runs": list(key.runs),
        "deprecated": key.deprecated,
    }


def _component_as_json(part: Part) -> dict[str, object]:
    assert part.tag is not None, "only components are explained by name"
    return {
        "path": part.path,
        "kind": part.tag.kind,
        "component": list(part.tag.names),
        "doc": part.doc,
        "inert": part.tag.inert,
        "pending": part.tag.pending,
        "keys": [entry.name for entry in part.entries],
    }


def _hint(wanted: str, choices: list[str]) -> str:
    """What was probably meant, the likeliest first; empty where nothing is near."""
    near = [nearest(wanted, choices), *get_close_matches(wanted, choices, n=_MOST_NEAR)]
    texts = [text for text in dict.fromkeys(near) if text]
    return f" Did you mean {', '.join(texts[:_MOST_NEAR])}?" if texts else ""


def _text(subject: Subject) -> tuple[str, list[str]]:
    """What a subject is called, and the lines that explain it."""
    if isinstance(subject, Rule):
        return f"{subject.id}  (rule)", list(_rule_lines(subject))
    if isinstance(subject, Part):
        return _component_title(subject), list(_component_lines(subject))
    of_type = f"  ({subject.part.chooser}: {', '.join(subject.component)})" if subject.component else ""
    return subject.path + of_type, list(_key_lines(subject))


def _rule_lines(rule: Rule) -> Iterator[str]:
    yield rule.doc
    yield f"keys: {', '.join(rule.keys)}"
    yield f"severity: {rule.severity.noun}"


def _key_lines(entry: Entry) -> Iterator[str]:
    yield entry.key.doc
    yield f"type: {entry.type_text}"
    default = describe_default(entry.default)
    yield default if entry.default is REQUIRED else f"default: {default}"
    if allowed := describe_allowed(entry.key):
        yield f"allowed: {allowed}"
    yield f"read in run modes: {', '.join(entry.modes)}"
    yield from (f"{heading}: {text}" for heading, text in describe_remarks(entry.key))
    if entry.inert and not entry.key.inert:
        yield f"has no effect, as its section: {entry.inert}"
    if entry.pending and not entry.key.pending:
        yield f"can't be run yet, as its section: {entry.pending}"
    for _, owner, _ in sections_in(entry.declared.annotation):
        if not tag_of(owner):
            yield f"keys: {', '.join(inner.name for inner in Part('', owner).entries)}"


def _component_title(part: Part) -> str:
    assert part.tag is not None, "only components are explained by name"
    chooser = "" if part.chooser == TYPE_KEY else f", chosen by {part.chooser}"
    return f"{part.path}  (type: {', '.join(part.tag.names)}{chooser})"


def _component_lines(part: Part) -> Iterator[str]:
    assert part.tag is not None, "only components are explained by name"
    yield part.doc
    if part.tag.inert:
        yield f"has no effect: {part.tag.inert}"
    if part.tag.pending:
        yield f"can't be run yet: {part.tag.pending}"
    yield "keys:" if part.entries else "no keys"
    for entry in part.entries:
        default = describe_default(entry.default)
        yield f"  {entry.name}: {entry.key.doc} ({default if entry.default is REQUIRED else f'default: {default}'})"

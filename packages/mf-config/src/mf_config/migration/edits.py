"""From a rule and the entry that it concerns to the edited text."""

import re
from collections.abc import Mapping

import yaml

from mf_config.migration.meaning import Meaning, Plain, scalar
from mf_config.migration.placing import Place, RefusedError, find_place
from mf_config.migration.rule import Add, Move, Remove, Rename, Renaming, Rule, Value, show_path
from mf_config.migration.text import Line, Splice, Text
from mf_config.migration.tree import Entry, Tree

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
"""An anchor or a tag before a scalar: part of PyYAML's node, not of the value."""
_QUOTES = ("'", '"')
_UNSAFE = "its lines are laid out in a way that can't be edited safely"


def edit(tree: Tree, text: Text, rule: Rule, entry: Entry) -> tuple[Text, Tree, str]:
    """Apply a rule once.

    Args:
        tree: the parsed text.
        text: the text.
        rule: what to do.
        entry: the entry that the rule's path leads to; for `Add`, the section that gets the key.
    Returns:
        The new text, its tree, and what was done as the report says it.
    Raises:
        RefusedError: a person must do it.
    """
    edited, done, wanted = _apply(tree, text, rule, entry)
    try:
        after = Tree(edited.whole)
    except yaml.YAMLError as error:
        raise RefusedError(_UNSAFE) from error
    if Meaning(after.root).data != wanted:
        raise RefusedError(_UNSAFE)
    return edited, after, done


def _apply(tree: Tree, text: Text, rule: Rule, entry: Entry) -> tuple[Text, str, Plain]:
    """The new text, the report, and the values that the new text must have."""
    meaning = Meaning(tree.root)
    if isinstance(rule, Value):
        edited = text.spliced([_value_splice(tree, entry, rule.new)])
        meaning.section(entry.section)[entry.name] = scalar(rule.new) if not _quote(entry.value) else _text(rule.new)
        return edited, f"{entry.shown}: {rule.old} -> {rule.new}", meaning.data
    if isinstance(rule, Add):
        target = (*entry.paths[0], rule.pattern[-1])
        place = find_place(tree, target, entry)
        line = Line(f"{' ' * place.column}{target[-1]}: {rule.text}{text.line_end}", _number(text, entry))
        meaning.put(target, scalar(rule.text))
        return text.changed(range(0), (), place.line, [line]), f"{show_path(target)}: {rule.text} added", meaning.data
    if isinstance(rule, Remove):
        edited = _cut(tree, text, entry)
        meaning.take(entry)
        return edited, f"{entry.shown}: removed", meaning.data
    assert isinstance(rule, Renaming)
    return _transfer(tree, text, rule, entry, meaning)


def _transfer(tree: Tree, text: Text, rule: Renaming, entry: Entry, meaning: Meaning) -> tuple[Text, str, Plain]:
    """Rename or move, unless the new key is there already: then the old one goes, or a person must choose."""
    target = (*entry.paths[0][:-1], rule.new) if isinstance(rule, Rename) else tuple(rule.new.split("."))
    rival = tree.entry(entry.section, rule.new) if isinstance(rule, Rename) else tree.at(target)
    splices, value = _translated(tree, entry, rule.values, meaning)
    if rival:
        same = meaning.section(rival.section)[rival.name] == value
        if not same and not (isinstance(rule, Move) and rule.new_wins):
            there = _number(text, rival)
            raise RefusedError(f"{show_path(target)} is given too, at line {there}, with another value: keep one")
        edited = _cut(tree, text, entry)
        meaning.take(entry)
        return edited, f"{entry.shown}: removed, {show_path(target)} is given", meaning.data
    splices.append(_key_splice(tree, entry, target[-1]))
    done = f"{entry.shown} -> {show_path(target) if isinstance(rule, Move) else rule.new}"
    if isinstance(rule, Rename):
        section = meaning.section(entry.section)
        renamed = {target[-1] if name == entry.name else name: kept for name, kept in section.items()}
        section.clear()
        section.update({**renamed, target[-1]: value})
        return text.spliced(splices), done, meaning.data
    edited = _move(tree, text.spliced(splices), entry, find_place(tree, target, entry))
    meaning.take(entry)
    meaning.put(target, value)
    return edited, done, meaning.data


def _move(tree: Tree, text: Text, entry: Entry, place: Place) -> Text:
    """The text with a key's lines, and the comments right above them, at another place."""
    cut, heads = _lines_of(tree, entry)
    column = entry.key.start_mark.column
    first = cut.start
    while first and text.lines[first - 1].text.lstrip(" ").startswith("#") and _depth(text, first - 1) == column:
        first -= 1
    if tree.holds_anchor(_position(tree, first), _position(tree, cut.stop)):
        raise RefusedError("it has an anchor, and what refers to that must come later in the file")
    number = _number(text, entry)
    opened = [Line(head + text.line_end, number) for head in place.heads]
    moved = [text.lines[line].indented(place.column - column) for line in range(first, cut.stop)]
    if not moved[-1].text.endswith(("\n", "\r")):
        moved[-1] = Line(moved[-1].text + text.line_end, moved[-1].number)
    return text.changed(range(first, cut.stop), heads, place.line, [*opened, *moved])


def _cut(tree: Tree, text: Text, entry: Entry) -> Text:
    """The text without a key's lines; comments above stay, they may speak of more than this key."""
    cut, heads = _lines_of(tree, entry)
    if tree.holds_anchor(_position(tree, cut.start), _position(tree, cut.stop)):
        raise RefusedError("it has an anchor")
    return text.changed(cut, heads, -1, ())


def _lines_of(tree: Tree, entry: Entry) -> tuple[range, list[int]]:
    """The lines that a key fills, and those of the sections above that are empty without it.

    Raises:
        RefusedError: the lines hold something else too.
    """
    if entry.section.flow_style:
        raise RefusedError("its section is written in flow style, {...}")
    if not tree.starts_line(entry):
        raise RefusedError("it does not stand on a line of its own")
    heads: list[int] = []
    above: Entry | None = entry
    while above and len(above.section.value) == 1:
        if above.section is tree.root:
            break
        if above.outer is None:
            raise RefusedError("nothing would be left around it")
        heads.append(above.outer.key.start_mark.line)
        above = above.outer
    return range(entry.key.start_mark.line, tree.end_line(entry)), heads


def _translated(tree: Tree, entry: Entry, values: Mapping[str, str], meaning: Meaning) -> tuple[list[Splice], Plain]:
    """The splices that bring an entry's value into its new form, and that value.

    Raises:
        RefusedError: the value has no counterpart.
    """
    if not values:
        return [], meaning.section(entry.section)[entry.name]
    old = str(entry.value.value) if isinstance(entry.value, yaml.ScalarNode) else "a section or list"
    new = values.get(old, values.get(old.capitalize()))
    if new is None:
        raise RefusedError(f"{old} has no counterpart. Allowed: {', '.join(values)}")
    return [_value_splice(tree, entry, new)], _text(new) if _quote(entry.value) else scalar(new)


def _value_splice(tree: Tree, entry: Entry, new: str) -> Splice:
    """The replacement of a one-line scalar, its quotation marks kept.

    Raises:
        RefusedError: the value is shared, or spread over lines.
    """
    mark, end = entry.value.start_mark, entry.value.end_mark
    if entry.is_alias or tree.is_shared(entry.value):
        raise RefusedError("the value is shared through an anchor")
    if mark.line != end.line:
        raise RefusedError("the value is written over several lines")
    line = tree.lines[mark.line]
    properties = _PROPERTIES.match(line, mark.column, end.column)
    assert properties is not None
    quote = _quote(entry.value)
    return Splice(mark.line, properties.end(), end.column, f"{quote}{new}{quote}")


def _key_splice(tree: Tree, entry: Entry, name: str) -> Splice:
    """The replacement of a key, its quotation marks kept."""
    mark, end = entry.key.start_mark, entry.key.end_mark
    if tree.holds_anchor(mark.index, end.index):
        raise RefusedError("the key has an anchor")
    quote = _quote(entry.key)
    return Splice(mark.line, mark.column, end.column, f"{quote}{name}{quote}")


def _quote(node: yaml.Node) -> str:
    return node.style if isinstance(node, yaml.ScalarNode) and node.style in _QUOTES else ""


def _text(text: str) -> Plain:
    """A scalar in quotation marks, as plain data."""
    return ("tag:yaml.org,2002:str", text)


def _number(text: Text, entry: Entry) -> int:
    """The original line of a key."""
    return text.lines[entry.key.start_mark.line].number


def _depth(text: Text, line: int) -> int:
    return len(text.lines[line].text) - len(text.lines[line].text.lstrip(" "))


def _position(tree: Tree, line: int) -> int:
    """The first character of a line in the whole text."""
    return sum(len(written) for written in tree.lines[:line])

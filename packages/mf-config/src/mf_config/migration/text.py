"""A text whose lines remember where they stood in the file, and the edits that leave every other character alone."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_COMMENT_AFTER_KEY = re.compile(r"[^#]*?:[ \t]*(#.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        text: its characters, the line end included.
        number: its line in the original file, counted from 1; for a new line, that of the key it was made for.
    """

    text: str
    number: int

    def indented(self, columns: int) -> "Line":
        """The line moved to the right, or to the left as far as its spaces allow; an empty line stays as it is."""
        if not self.text.strip():
            return self
        if columns >= 0:
            return Line(" " * columns + self.text, self.number)
        spaces = len(self.text) - len(self.text.lstrip(" "))
        return Line(self.text[min(-columns, spaces) :], self.number)


@dataclass(frozen=True, slots=True)
class Splice:
    """A replacement of characters within one line.

    Attributes:
        line: the line, counted from 0.
        start: its first character that goes.
        end: the one after the last.
        new: what comes instead.
    """

    line: int
    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text in lines."""

    lines: tuple[Line, ...]

    @classmethod
    def of(cls, text: str) -> "Text":
        """The lines of a file."""
        return cls(tuple(Line(line, number) for number, line in enumerate(text.splitlines(keepends=True), start=1)))

    @property
    def whole(self) -> str:
        """All characters."""
        return "".join(line.text for line in self.lines)

    @property
    def line_end(self) -> str:
        """The line end of the first line, which new lines take too."""
        first = self.lines[0].text if self.lines else ""
        return first[len(first.rstrip("\r\n")) :] or "\n"

    def spliced(self, splices: Iterable[Splice]) -> "Text":
        """The text with characters replaced; the splices do not overlap."""
        lines = list(self.lines)
        for splice in sorted(splices, key=lambda splice: (splice.line, splice.start), reverse=True):
            old = lines[splice.line]
            lines[splice.line] = Line(old.text[: splice.start] + splice.new + old.text[splice.end :], old.number)
        return Text(tuple(lines))

    def changed(self, cut: range, heads: Iterable[int], at: int, put: Iterable[Line]) -> "Text":
        """The text with lines removed and others inserted.

        Args:
            cut: the lines that go.
            heads: lines of sections that are empty without them and go too; a comment behind their key stays.
            at: the line before which the new ones are inserted, outside `cut`.
            put: the new lines.
        """
        gone = set(heads)
        result: list[Line] = []
        for number in range(len(self.lines) + 1):
            if number == at:
                result = [*_closed(result, self.line_end), *put]
            if number == len(self.lines) or number in cut:
                continue
            line = self.lines[number]
            if number not in gone:
                result.append(line)
            elif kept := _COMMENT_AFTER_KEY.match(line.text):
                indent = line.text[: len(line.text) - len(line.text.lstrip(" "))]
                result.append(Line(indent + kept[1], line.number))
        return Text(tuple(result))


def _closed(lines: list[Line], line_end: str) -> list[Line]:
    """The lines, the last one with a line end, which the end of a file may lack."""
    if not lines or lines[-1].text.endswith(("\n", "\r")):
        return lines
    return [*lines[:-1], Line(lines[-1].text + line_end, lines[-1].number)]

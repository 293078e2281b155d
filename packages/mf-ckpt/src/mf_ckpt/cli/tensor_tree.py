"""The tensors of a model as a tree of their dotted names, layers that are alike shown once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mf_ckpt.cli.texts import printable, size_text


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor: type, shape, stored bytes, and how it is placed, in words."""

    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    placed: str


@dataclass(slots=True)
class _Node:
    """A word of a name: the tensor that ends there, if any, and the words that follow."""

    leaf: Leaf | None = None
    children: dict[str, "_Node"] = field(default_factory=dict)

    def form(self) -> tuple[object, ...]:
        """What two nodes have in common that are alike."""
        return (self.leaf, *((word, child.form()) for word, child in self.children.items()))

    def nbytes(self) -> int:
        own = self.leaf.nbytes if self.leaf else 0
        return own + sum(child.nbytes() for child in self.children.values())


def tree_lines(leaves: Mapping[str, Leaf]) -> list[str]:
    """Aligned lines of a tree.

    Args:
        leaves: name to tensor.

    Returns:
        A line for each tensor and each part of a model, with sizes; parts that are alike share their lines.
    """
    root = _Node()
    for name, leaf in leaves.items():
        node = root
        for word in printable(name).split("."):
            node = node.children.setdefault(word, _Node())
        node.leaf = leaf
    rows = list(_rows(root, ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_aligned(row, widths)).rstrip() for row in rows]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Cells padded to equal width; the size, the fourth, to the right."""
    for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.rjust(width) if number == 3 else cell.ljust(width)


def _rows(node: _Node, indent: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Name with its branch, type, shape, size and placement, of everything below a node."""
    groups = _alike(node)
    for number, (words, child) in enumerate(groups):
        last = number == len(groups) - 1
        label = _label(words)
        while child.leaf is None and len(child.children) == 1 and not next(iter(child.children)).isdecimal():
            ((word, child),) = child.children.items()
            label = f"{label}.{word}"
        yield (f"{indent}{'└─ ' if last else '├─ '}{label}", *_cells(child, len(words)))
        yield from _rows(child, indent + ("   " if last else "│  "))


def _cells(node: _Node, count: int) -> tuple[str, str, str, str]:
    size = node.nbytes()
    times = f"{count} of {size_text(size)}" if count > 1 else ""
    if node.leaf is None:
        return "", times, size_text(size * count), ""
    shape = "x".join(map(str, node.leaf.shape)) or "scalar"
    return node.leaf.dtype, f"{count} of {shape}" if count > 1 else shape, size_text(size * count), node.leaf.placed


def _alike(node: _Node) -> list[tuple[list[str], _Node]]:
    """The children, numbered ones that are alike as one entry with all their numbers."""
    found: dict[object, tuple[list[str], _Node]] = {}
    for word, child in node.children.items():
        key: object = (child.form(),) if word.isdecimal() else word
        found.setdefault(key, ([], child))[0].append(word)
    return list(found.values())


def _label(words: Sequence[str]) -> str:
    """Numbers as ranges, `0-3,7`; a single word as it is."""
    if len(words) == 1:
        return words[0]
    runs: list[list[int]] = []
    for number in sorted(map(int, words)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)

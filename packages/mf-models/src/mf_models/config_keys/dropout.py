"""Shares of elements that dropout takes away."""

from collections.abc import Iterable, Iterator


def dropout_problems(section: object, names: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """The shares that leave nothing to train: key name, what is wrong, what is allowed.

    Args:
        section: holds the shares, numbers from 0 to 1.
        names: their keys.
    """
    for name in names:
        if getattr(section, name) == 1:
            yield name, "1 leaves nothing to train", "from 0, below 1"

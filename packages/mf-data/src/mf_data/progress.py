"""How long work tells what it has done."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int], None]
"""Called now and then with the bytes of text that are done so far."""


def silent(done: int) -> None:
    """Tells nobody."""

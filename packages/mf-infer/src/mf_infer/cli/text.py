"""Answers on standard output."""

from collections.abc import Iterable


def print_title(number: int, prompt: str) -> None:
    """Print what an answer belongs to, where there are several."""
    print(f"[{number}] {prompt}")


def print_stream(pieces: Iterable[str]) -> None:
    """Print each piece of an answer when it comes, then end the line."""
    for piece in pieces:
        print(piece, end="", flush=True)
    print()

"""No key is accepted and silently dropped: each has a reader, or the sources say why it has none."""

from pathlib import Path

from measures.configuration import unread_keys
from measures.source import read_repository

ROOT = Path(__file__).parent.parent


def test_every_key_has_a_reader_or_a_reason() -> None:
    assert unread_keys(read_repository(ROOT)).offenders == ()

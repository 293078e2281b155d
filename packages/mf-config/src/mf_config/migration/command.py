"""The subcommand `migrate`: rewrites an older run configuration, keeping its comments, order and layout."""

import codecs
import json
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from mf_config.command_line import FAILURE, OK
from mf_config.migration.migrate import Migration, Note, migrate_text
from mf_config.yaml_reader import read_file


def run(arguments: Namespace) -> int:
    """Migrate the file; returns 1 where something is left to do by hand, or with --check where anything is to do."""
    config: Path = arguments.config
    read_file(config)  # refuses what is no run configuration with the messages that validate has
    content = config.read_bytes()
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    migration = migrate_text(content.decode("utf-8-sig"), str(config))
    migrated = mark + migration.text.encode()
    if arguments.in_place and migrated != content:
        _replace(config.resolve(), migrated)
    elif arguments.output:
        _replace(arguments.output.resolve(), migrated)
    to_stdout = not (arguments.in_place or arguments.output or arguments.check)
    if arguments.json:
        _write(json.dumps(_as_json(config, migration), ensure_ascii=False).encode() + b"\n")
    else:
        if to_stdout:
            _write(migrated)
        report = "".join(f"{line}\n" for line in _report(config, migration))
        (sys.stderr if to_stdout else sys.stdout).write(report)
    found = migration.changes if arguments.check else ()
    return FAILURE if found or migration.refused else OK


def _report(config: Path, migration: Migration) -> list[str]:
    """The lines that tell what was done and what is left."""
    notes: Sequence[Note] = sorted((*migration.changes, *migration.refused), key=lambda note: note.location)
    done = len(migration.changes)
    counts = f"{config}: {done} change{'s' * (done != 1)}, {len(migration.refused)} left to do by hand"
    return [*(str(note) for note in notes), counts if notes else f"{config}: nothing to migrate"]


def _as_json(config: Path, migration: Migration) -> dict[str, object]:
    return {
        "file": str(config),
        "changes": [note.as_json() for note in migration.changes],
        "by_hand": [note.as_json() for note in migration.refused],
        "text": migration.text,
    }


def _write(content: bytes) -> None:
    """Write bytes to standard output: its text layer would translate line ends on some systems."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that at any moment either the old or the new content is there, with the old one's mode."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        else:
            beside.chmod(0o666 & ~_umask())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _umask() -> int:
    """The mode bits that new files lack; they can be read only by setting them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Single faults made in run configurations are reported at their line, and typos with the key that was meant.

The configurations of the examples are always used; real ones where MF_REAL_CONFIGS names a folder of them.
"""

import os
import zlib
from collections import Counter
from pathlib import Path

import pytest
from faults import errors_of, faults_of, several_faults_of

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.yaml"))
REAL = sorted(Path(folder).glob("*.yaml")) if (folder := os.environ.get("MF_REAL_CONFIGS")) else []
FAULTS_OF_A_FILE = 24


def files_without_errors() -> list[Path]:
    return [path for path in [*EXAMPLES, *REAL] if not errors_of(path)]


def test_single_faults_are_found_where_they_are(tmp_path: Path) -> None:
    made: Counter[str] = Counter()
    missed, unhelpful = [], []
    for path in files_without_errors():
        for fault in faults_of(path, FAULTS_OF_A_FILE, zlib.crc32(path.name.encode())):
            changed = tmp_path / "run.yaml"
            changed.write_text(fault.text, encoding="utf-8")
            made[fault.kind] += 1
            here = [suggestion for line, suggestion in errors_of(changed) if line == fault.line]
            shown = f"{path.name}:{fault.line}: {fault.kind}: {fault.text.splitlines()[fault.line - 1]}"
            if not here:
                missed.append(shown)
            elif fault.meant and all(suggestion.rpartition(".")[2] != fault.meant for suggestion in here):
                unhelpful.append(shown)
    assert len(missed) <= 0.01 * made.total(), missed
    assert len(unhelpful) <= 0.05 * made["typo"], unhelpful
    assert made.total() >= (300 if REAL else 20)


@pytest.mark.parametrize("seed", range(3))
def test_several_faults_are_found_together(tmp_path: Path, seed: int) -> None:
    for path in files_without_errors():
        text, lines = several_faults_of(path, 9, seed)
        changed = tmp_path / "run.yaml"
        changed.write_text(text, encoding="utf-8")
        found = {line for line, _ in errors_of(changed)}
        assert set(lines) <= found, (path.name, sorted(set(lines) - found))

"""The example with a loss, a callback and a model from outside is run as a notebook would run it."""

import ast
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "own-parts"


@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the examples are not part of a distribution")
def test_a_run_with_parts_of_another_distribution(tmp_path: Path) -> None:
    # What an installation writes.
    information = tmp_path / "own_parts-1.0.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: own-parts\nVersion: 1.0.0\n")
    declared = (EXAMPLE / "pyproject.toml").read_text().partition('[project.entry-points."mf.components"]\n')[2]
    points = declared.partition("\n\n")[0].replace('"', "")
    (information / "entry_points.txt").write_text(f"[mf.components]\n{points}\n")
    path = os.pathsep.join([str(tmp_path), str(EXAMPLE)])
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "notebook.py")],
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    summary, kept = done.stdout.splitlines()[-2:]
    steps = int(summary.split()[0])
    least = ast.literal_eval(kept)
    assert 10 < least["step"] <= steps
    # It began near the logarithm of 300 tokens.
    assert least["loss"] < math.log(300) - 0.5
    (weights,) = tmp_path.glob("own-parts-*/output/checkpoint/*/config.json")
    assert "KestrelForCausalLM" in weights.read_text()

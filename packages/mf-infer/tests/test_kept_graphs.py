"""The next start of the program finds the graphs of the one before."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
CASE = json.loads((DATA / "c41-expected.json").read_text())["gpt2"]
PROGRAM = "import sys\nfrom mf_infer.cli import main\nsys.exit(main(sys.argv[1:]))\n"

pytestmark = pytest.mark.golden


def test_the_second_start_compiles_nothing(tmp_path):
    # MindSpore keeps graphs of programs that are files.
    program, jobs = tmp_path / "program.py", tmp_path / "jobs.jsonl"
    program.write_text(PROGRAM)
    # One token, so that there is one graph: for one row and one token.
    jobs.write_text(json.dumps({"prompt_token_ids": CASE["prompts"][0]}))
    variables = {name: value for name, value in os.environ.items() if name not in ("MF_GRAPHS", "GLOG_v")}
    variables["XDG_CACHE_HOME"] = str(tmp_path / "cache")

    def start(number, **more):
        output = tmp_path / f"answers{number}.jsonl"
        words = ["generate", str(DATA / "gpt2"), "--input", str(jobs), "--output", str(output), "--temperature", "0"]
        done = subprocess.run(
            [sys.executable, str(program), *words, "--max-tokens", "10"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**variables, **more},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(output.read_text())["token_ids"] == CASE["greedy"][0]
        return done.stderr

    assert "WARNING" not in start(1)
    kept = sorted(path.name for path in (tmp_path / "cache" / "mf" / "graphs").iterdir())
    assert kept
    # At its own level MindSpore says what it takes.
    said = start(2, GLOG_v="2")
    assert said.count("Use the compilation cache and execute the backend actions only") == len(kept)
    assert "Execute all the compilation actions" not in said
    assert sorted(path.name for path in (tmp_path / "cache" / "mf" / "graphs").iterdir()) == kept

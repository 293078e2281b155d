"""Compiled graphs from one process to the next: the same bits, and never another cell's graph."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "programs" / "kept_graphs.py"


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Starts a process that runs graphs in an order: what each gave, and how many graphs MindSpore compiled."""
    working = tmp_path_factory.mktemp("working")

    def run(folder: Path | None, order: str, **settings: float) -> dict[str, Any]:
        words = [str(folder or ""), order, json.dumps(settings)]
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        done = subprocess.run(
            [sys.executable, PROGRAM, *words], capture_output=True, text=True, check=True, cwd=working, env=environment
        )
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer

    return run


def test_graphs_come_from_the_folder_in_any_order_with_the_same_bits(tmp_path: Path, start: Any) -> None:
    compiled = start(None, "step loss step")
    first = start(tmp_path, "step loss step")
    assert first["results"] == compiled["results"]
    assert first["written"] == 2
    again = start(tmp_path, "step loss step")
    assert again["results"] == compiled["results"]
    assert again["written"] == 0
    turned = start(tmp_path, "loss step step")
    assert turned["written"] == 0
    assert turned["results"][1] == compiled["results"][0]


@pytest.mark.slow
def test_another_constant_or_other_weights_never_give_the_old_result(tmp_path: Path, start: Any) -> None:
    start(tmp_path, "step loss")
    for settings, written in (({"epsilon": 0.5}, 2), ({"factor": 3.0}, 1), ({"layers": 2}, 2), ({"seed": 5}, 0)):
        found = start(tmp_path, "step loss", **settings)
        assert found["written"] == written, settings
        assert found["results"] == start(None, "step loss", **settings)["results"], settings


def test_a_damaged_graph_is_compiled_anew(tmp_path: Path, start: Any) -> None:
    whole = start(tmp_path, "loss")
    (kept,) = tmp_path.iterdir()
    os.truncate(kept, kept.stat().st_size // 2)
    assert start(tmp_path, "loss") == whole

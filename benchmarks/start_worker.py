"""Starts a command and measures until its first result: `prepare LAYERS FOLDER`, or `train GRAPHS FOLDER`.

GRAPHS is `compiled`, with a folder of kept graphs that is empty, or `kept`, with one that earlier rounds filled.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from train_model import run_configuration

from mf_models.device import GRAPHS

_PROGRAMS = Path(sys.executable).parent
_STEP = re.compile(r"step:\[ *1/.*loss: ([0-9.]+)")
_COMPILED = re.compile(r"compiled the training step in ([0-9.]+) s")


def main(what: str, chosen: str, folder: Path) -> None:
    """Prepare, or measure once and print the measures as one line of JSON."""
    if what == "prepare":
        _prepare(int(chosen), folder)
        return
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        graphs = Path(empty) if chosen == "compiled" else folder / "graphs"
        measures, result = _train(folder, graphs)
    versions = {name: version(name) for name in ("mindspore", "mf-train")}
    sys.stdout.write(json.dumps({"measures": measures, "result": result, "versions": versions}) + "\n")


def _prepare(layers: int, folder: Path) -> None:
    """Write the run configuration, and train one step for the tokenizer, rows and a checkpoint."""
    text = run_configuration("small", folder).replace("num_layers: 6", f"num_layers: {layers}")
    (folder / "run.yaml").write_text(text + "callbacks: [{type: MFLossMonitor}]\n")
    command = [_PROGRAMS / "mf-train", "run", folder / "run.yaml", "--stop-after", "1"]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, GRAPHS: str(folder / "graphs")})


def _train(folder: Path, graphs: Path) -> tuple[dict[str, float], str]:
    """Until the line of the first step is in the log."""
    measures, result = {}, ""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=folder) as output:
        command = [_PROGRAMS / "mf-train", "run", folder / "run.yaml", "--set", f"output_dir={output}"]
        environment = {**os.environ, GRAPHS: str(graphs)}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment
        )
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                if compiled := _COMPILED.search(line):
                    measures["inside_s"] = float(compiled[1])
                if step := _STEP.search(line):
                    measures["first_step_s"], result = time.perf_counter() - begin, step[1]
                    break
            process.kill()
    return measures, result


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

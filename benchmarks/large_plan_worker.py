"""Plans large_plan.yaml by `mf-train plan`, once as an estimate, once with a rank compiled."""

import json
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

_CONFIG = str(Path(__file__).with_name("large_plan.yaml"))
_GIB = 2**30


def main() -> None:
    """Argument: the rank; prints the measures as one line of JSON."""
    began = time.perf_counter()
    estimate = _plan()["estimate"]
    estimated = time.perf_counter()
    (compiled,) = _plan("--compile", sys.argv[1])["compiled"]
    if compiled["failure"]:
        raise SystemExit(compiled["failure"])
    measures = {
        "estimate_s": estimated - began,
        "compile_s": compiled["seconds"],
        "process_s": time.perf_counter() - estimated,
        "peak_gib": compiled["peak_bytes"] / _GIB,
    }
    versions = {name: version(name) for name in ("mindspore", "mf-train")}
    sys.stdout.write(json.dumps({"measures": measures, "result": estimate, "versions": versions}) + "\n")


def _plan(*options: str) -> dict[str, Any]:
    command = (sys.executable, "-m", "mf_train", "plan", _CONFIG, "--back-end", "mindspore", "--json", *options)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()

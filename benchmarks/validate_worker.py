"""Reads every configuration of a folder: checked against the whole schema by mf, or parsed only by PyYAML."""

import contextlib
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    """Arguments: the reader and the folder; prints the measures as one line of JSON."""
    reader, folder = sys.argv[1], Path(sys.argv[2])
    files = sorted(str(path) for path in folder.glob("*.yaml"))
    began = time.perf_counter()
    read = {"mf": _with_mf, "pyyaml": _with_pyyaml}[reader]()
    imported = time.perf_counter()
    read(files)
    done = time.perf_counter()
    measures = {"import_s": imported - began, "files_s": done - imported, "start_s": _start_of(reader)}
    versions = {name: version(name) for name in ("pyyaml", "mf-config", "mf-train")}
    sys.stdout.write(json.dumps({"measures": measures, "result": len(files), "versions": versions}) + "\n")


def _with_mf() -> Callable[[list[str]], None]:
    from mf_train.cli.program import main as mf_train

    def read(files: list[str]) -> None:
        # What is said of the files belongs to the work, but not into the benchmark's own output.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            mf_train(["validate", *files])
        assert "mindspore" not in sys.modules

    return read


def _with_pyyaml() -> Callable[[list[str]], None]:
    import yaml

    def read(files: list[str]) -> None:
        for path in files:
            yaml.safe_load(Path(path).read_text(encoding="utf-8-sig"))

    return read


def _start_of(reader: str) -> float:
    """Seconds of a process that only starts: `mf-train --help`, or an interpreter that imports PyYAML."""
    code = {"mf": "from mf_train.cli.program import main; main(['--help'])", "pyyaml": "import yaml"}[reader]
    began = time.perf_counter()
    subprocess.run((sys.executable, "-c", code), stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()

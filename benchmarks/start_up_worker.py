"""Both sides of the start-up benchmark: `again|"first time" MODEL` prints one round."""

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("mf-infer"))
PROMPT = {"prompt_token_ids": [1, 56, 23, 75, 40, 31, 9, 100]}
IMPORT = "import time; began = time.perf_counter(); import mf_infer.cli; print(time.perf_counter() - began)"


def first_token(model: str, folder: Path, cache: str | None) -> tuple[float, list[int]]:
    """Seconds to the first token, and the token."""
    jobs, answers = folder / "jobs.jsonl", folder / "answers.jsonl"
    jobs.write_text(json.dumps(PROMPT) + "\n", encoding="utf-8")
    words = [
        "generate",
        model,
        "--input",
        str(jobs),
        "--output",
        str(answers),
        "--max-tokens",
        "1",
        "--temperature",
        "0",
    ]
    variables = {**os.environ, **({"XDG_CACHE_HOME": cache} if cache else {})}
    began = time.perf_counter()
    with subprocess.Popen([PROGRAM, *words], env=variables, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # The line that tells of the answer comes as soon as it has ended; the end of the process takes its own time.
        told = next((time.perf_counter() for line in process.stderr if line.startswith("1/1 ")), None)
        process.stderr.read()
    if process.returncode or told is None:
        sys.exit(f"mf-infer ended with status {process.returncode}")
    tokens: list[int] = json.loads(answers.read_text(encoding="utf-8"))["token_ids"]
    return told - began, tokens


def help_s() -> float:
    """Seconds of `mf-infer generate --help`."""
    began = time.perf_counter()
    subprocess.run([PROGRAM, "generate", "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def import_s() -> float:
    """Seconds that the import of the command line takes."""
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main(side: str, model: str) -> None:
    """Measure one round."""
    with tempfile.TemporaryDirectory(prefix="start-up-") as folder:
        seconds, tokens = first_token(model, Path(folder), f"{folder}/cache" if side == "first time" else None)
    measures = {"first_token_s": seconds, "help_s": help_s(), "import_s": import_s()}
    versions = {name: version(name) for name in ("mindspore", "mf-infer")}
    sys.stdout.write(json.dumps({"measures": measures, "result": tokens, "versions": versions}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

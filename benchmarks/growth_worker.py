"""Trains or answers for a number of steps or requests, and says how much memory the process holds at the end.

Usage: growth_worker.py train|answer COUNT FOLDER
"""

import contextlib
import io
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from mf_config import decode, load
from mf_models.threads import sleep_while_waiting

ROOT = Path(__file__).parent.parent
ROWS = 8
"""Of a step."""

TINY = (
    "model.model_config.hidden_size=32",
    "model.model_config.intermediate_size=64",
    "model.model_config.num_layers=1",
    "model.model_config.num_heads=2",
    "model.model_config.n_kv_heads=1",
    "model.model_config.seq_length=32",
    "model.model_config.vocab_size=512",
    "processor.tokenizer.vocab_size=512",
    "train_dataset.data_loader.num_samples=800",
    "do_eval=False",
)
"""What makes a step of examples/quickstart.yaml take milliseconds."""

REQUESTS_AT_ONCE, ANSWER = 50, 4


def train(steps: int, folder: Path) -> None:
    """A whole run with its log, records and checkpoints."""
    from mf_train import Trainer

    settings = [
        *TINY,
        f"output_dir={folder}/output",
        f"processor.tokenizer.tokenizer_file={folder}/tokenizer.json",
        f"runner_config.epochs={steps * ROWS // 800}",
        "callbacks=[{type: MFLossMonitor, per_print_times: 100}, "
        "{type: CheckpointMonitor, save_checkpoint_steps: 500, keep_checkpoint_max: 2}]",
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        result = Trainer(decode(load(str(ROOT / "examples" / "quickstart.yaml"), settings))).run()
    assert result.step == steps, result


def answer(requests: int, folder: Path) -> None:
    """Requests with sampling, fifty at a time, over a model that a short training left."""
    from mf_infer import LLM, SamplingParams

    llm = LLM(folder / "output")
    settings = SamplingParams(max_tokens=ANSWER, temperature=0.8, seed=1)
    for first in range(0, requests, REQUESTS_AT_ONCE):
        prompts = [f"import number {first + number}" for number in range(REQUESTS_AT_ONCE)]
        assert len(llm.generate(prompts, settings)) == REQUESTS_AT_ONCE


def held_mb() -> float:
    """Memory that this process wrote to, without pages of files, which the system may take back at any time."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    sizes = dict(line.split(":", 1) for line in lines)
    return sum(int(sizes[name].split()[0]) * 1024 for name in ("RssAnon", "VmSwap")) / 1e6


def main() -> None:
    """Work, and print the measures as one line of JSON."""
    work, count, folder = {"train": train, "answer": answer}[sys.argv[1]], int(sys.argv[2]), Path(sys.argv[3])
    # Before MindSpore is loaded, whose threads read it.
    sleep_while_waiting()
    began = time.perf_counter()
    work(count, folder)
    measures = {"held_mb": held_mb(), "seconds": time.perf_counter() - began}
    versions = {name: version(name) for name in ("mindspore", "mf-train", "mf-infer")}
    sys.stdout.write("\n" + json.dumps({"measures": measures, "result": sys.argv[1], "versions": versions}) + "\n")


if __name__ == "__main__":
    main()

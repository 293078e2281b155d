"""Trains for some steps and says how much memory that took: `memory_worker.py SIZE FOLDER wide|narrow`."""

import contextlib
import io
import json
import sys
from importlib.metadata import version
from pathlib import Path

from train_model import BATCHES, SIZES, run_configuration

from mf_config import RunConfig, decode, load
from mf_models.threads import sleep_while_waiting
from mf_parallel.planner.card import device_card
from mf_parallel.planner.estimate import estimate
from mf_train.planning.layout_of_run import layout_of

NARROW = (
    "model.model_config.hidden_size=32",
    "model.model_config.intermediate_size=32",
    "model.model_config.vocab_size=512",
    "model.model_config.seq_length=32",
    "processor.tokenizer.vocab_size=512",
)
"""What leaves next to nothing of a network but the number of its blocks."""

_KIB_OF_MIB = 1024
_MIB = 1024**2
_CARD = "910B"
"""Its attention keeps no scores, as that of mf on CPU."""


def main(size: str, folder: Path, width: str) -> None:
    """Run, and print the measures as one line of JSON."""
    # Before MindSpore is loaded, whose threads read it.
    sleep_while_waiting()
    from mf_train.start import start_process
    from mf_train.trainer import Trainer

    file, output = folder / f"{size}.yaml", folder / f"{size}-{width}"
    file.write_text(run_configuration(size, folder), encoding="utf-8")
    own = [f"output_dir={output}", f"processor.tokenizer.tokenizer_file={output}/tokenizer.json"]
    config: RunConfig = decode(load(str(file), [*own, *(NARROW if width == "narrow" else ())]))
    start_process(config)
    before = memory_mb("VmRSS")
    with contextlib.redirect_stdout(io.StringIO()):
        result = Trainer(config).run()
    assert result.step == BATCHES[size], result
    planned, peak = planned_mb(config), memory_mb("VmHWM")
    measures = {
        "started_mb": before,
        "peak_mb": peak,
        "end_mb": memory_mb("VmRSS"),
        "planned_mb": planned,
        "peak_of_planned": peak / planned,
        "beyond_start_of_planned": (peak - before) / planned,
    }
    versions = {name: version(name) for name in ("mindspore", "mf-train")}
    sys.stdout.write("\n" + json.dumps({"measures": measures, "result": SIZES[size][0], "versions": versions}) + "\n")


def planned_mb(config: RunConfig) -> float:
    """Weights, gradients, optimizer and activations, with what the largest step of a backward pass takes besides."""
    (stage,) = estimate(layout_of(config, 1), device_card(_CARD), "float32").memory
    parts = (stage.parameters, stage.gradients, stage.optimizer, stage.activations, stage.working)
    return sum(parts) / _MIB


def memory_mb(name: str) -> float:
    """A line of the process's status: `VmRSS`, what it has in memory; `VmHWM`, the most that it had."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / _KIB_OF_MIB


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])

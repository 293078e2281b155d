"""Where the time of a training step goes: one of the runs of bench_train.py, operator by operator.

Each operator counts with its fastest execution of some steps, so that what else the machine does is not in the table.
The last lines say what share of the speed of one large matrix product those of the step reach.

Example:
    python benchmarks/step_times.py small
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from train_model import BATCHES, LEARNING_RATE, SIZES, run_configuration

from mf_config import decode, load
from mf_models.threads import sleep_while_waiting

_SHOWN = 10
_EXTENT, _TRIES = 2048, 10
"""Of the product that the others are compared with."""


def operator_times(job: Any, size: str) -> dict[str, list[float]]:
    """Milliseconds of each operator of a step, by its kind."""
    from mf_train.records.operator_profiler import OperatorProfiler

    batches = [job.examples(step) for step in range(BATCHES[size])]
    numbers = iter(range(1, 2 * len(batches) + 1))

    def run() -> None:
        for batch in batches:
            job.step(batch, scale=1.0, number=next(numbers), learning_rate=LEARNING_RATE)

    run()
    profiler = OperatorProfiler()
    run()
    fastest: dict[str, float] = {}
    for one in profiler.stop():
        fastest[one.name] = min(one.milliseconds, fastest.get(one.name, one.milliseconds))
    kinds = defaultdict(list)
    for name, milliseconds in fastest.items():
        kind = name.rpartition("/")[2].rsplit("-op", 1)[0]
        own = "in C++, backward" if name.startswith("Gradients") else "in C++, forward and norm"
        kinds[own if kind == "Custom" else kind].append(milliseconds)
    return kinds


def lone_product() -> float:
    """Floating point operations in a nanosecond of one large product."""
    from mindspore import Tensor, ops

    multiply = ops.MatMul(transpose_b=True)
    matrix = Tensor(np.ones((_EXTENT, _EXTENT), np.float32))
    seconds = []
    for _ in range(_TRIES):
        begin = time.perf_counter()
        multiply(matrix, matrix).asnumpy()
        seconds.append(time.perf_counter() - begin)
    return 2 * _EXTENT**3 / min(seconds) / 1e9


def read_job(size: str, folder: Path) -> Any:
    """The run of a size, assembled."""
    from mf_train.assemble import Job
    from mf_train.start import start_process

    file = folder / "run.yaml"
    file.write_text(run_configuration(size, folder), encoding="utf-8")
    config = decode(load(str(file)))
    return Job(config, start_process(config))


def operations_of_products(job: Any, size: str) -> int:
    """Floating point operations of a step's products with weights: one each forward, two backward."""
    _, _, _, _, tokens, rows = SIZES[size]
    weights = [one for one in job.model.get_parameters() if len(one.shape) == 2 and "embedding" not in one.name]
    return 6 * tokens * rows * sum(weight.size for weight in weights)


def table(kinds: dict[str, list[float]]) -> list[str]:
    """The slowest kinds of operators, and all together, Markdown."""
    whole = sum(map(sum, kinds.values()))
    lines = ["| operator | a step | ms | share |", "|---|---|---|---|"]
    for kind, times in sorted(kinds.items(), key=lambda item: -sum(item[1]))[:_SHOWN]:
        lines.append(f"| {kind} | {len(times)} | {sum(times):.1f} | {sum(times) / whole:.0%} |")
    return [*lines, f"| all | {sum(map(len, kinds.values()))} | {whole:.1f} | |"]


def main() -> None:
    """Print the table and the shares of what a product reaches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=SIZES)
    size = parser.parse_args().size
    # Before MindSpore is loaded, whose threads read it.
    sleep_while_waiting()
    with tempfile.TemporaryDirectory(prefix="step-times-") as folder:
        job = read_job(size, Path(folder))
        kinds = operator_times(job, size)
    operations, whole = operations_of_products(job, size), sum(map(sum, kinds.values()))
    reached, limit = operations / sum(kinds["MatMul"]) / 1e6, lone_product()
    lines = [
        *table(kinds),
        "",
        f"Products of a step: {operations / 1e9:.0f} billion operations at {reached:.0f} a nanosecond, "
        f"{reached / limit:.0%} of one product of {_EXTENT} x {_EXTENT} x {_EXTENT}. "
        f"The whole step reaches {operations / whole / 1e6 / limit:.0%}.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

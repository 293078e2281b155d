"""Writes the tables of docs/ascend-performance.md: where the time of published runs goes, as the planner sees it.

`python tools/ascend_performance.py`. The runs stand in published_throughputs.json; what surrounds the tables in the
page stays as it is.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from mf_config import RunConfig
from mf_config.sections.memory import RecomputeSection
from mf_config.sections.model import ModelSection
from mf_config.sections.parallel import ParallelDegrees, ParallelSection
from mf_config.sections.runner import RunnerSection
from mf_models.presets import preset
from mf_parallel.planner.card import device_card
from mf_parallel.planner.estimate import Estimate, estimate
from mf_parallel.planner.layout import BackEnd
from mf_train.optimizers.adamw import AdamW
from mf_train.planning.layout_of_run import devices_of, layout_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "ascend-performance.md"

_ATLAS = "800T A2"
"""The device of a run that names none."""

Run: TypeAlias = dict[str, Any]


def published_runs() -> list[Run]:
    """Name, model, layout and published tokens/s of a device, of each run."""
    text = (ROOT / "tools" / "published_throughputs.json").read_text(encoding="utf-8")
    return list(json.loads(text)["rows"])


def run_estimate(run: Run, back_end: BackEnd = BackEnd.MINDSPORE) -> Estimate:
    """What the planner says of a published run.

    Args:
        run: one of `published_runs()`.
        back_end: who divides the work.
    """
    config = configuration(run)
    return estimate(layout_of(config, devices_of(config), back_end), device_card(run.get("device", _ATLAS)), "bfloat16")


def configuration(run: Run) -> RunConfig:
    """The configuration of a run; sequence parallel wherever weights are divided, as in MindFormers' files."""
    mesh, offset = run["mesh"], {"offset": tuple(run["offset"])} if "offset" in run else {}
    ranks = mesh.get("tp", 1)
    return RunConfig(
        use_parallel=True,
        model=ModelSection(model_config=preset(run["model"], seq_length=run["seq_length"], **offset)),
        optimizer=AdamW(learning_rate=1e-4),
        runner_config=RunnerSection(
            batch_size=run.get("rows", 1), gradient_accumulation_steps=run.get("accumulate", 1)
        ),
        parallel=ParallelSection(enable_parallel_optimizer=True),
        parallel_config=ParallelDegrees(
            data_parallel=mesh.get("dp", 1),
            model_parallel=ranks,
            pipeline_stage=mesh.get("pp", 1),
            micro_batch_num=run.get("micro", 1),
            use_seq_parallel=ranks > 1,
            vocab_emb_dp=ranks == 1,
        ),
        recompute_config=RecomputeSection(
            recompute=run.get("recompute", False), select_recompute=tuple(run["select"]) if "select" in run else False
        ),
    )


def throughput_table() -> str:
    """Published and estimated tokens/s of a device, and the share of its peak that the model uses."""
    rows = [("model and machine", "published", "estimated", "error", "utilization")]
    for run in published_runs():
        found = run_estimate(run)
        tokens = found.tokens_per_second_per_device
        error = tokens / run["published"] - 1
        rows.append(
            (run["name"], f"{run['published']:,}", f"{tokens:,.0f}", f"{error:+.0%}", f"{found.utilization:.0%}")
        )
    return _table(rows)


def share_table() -> str:
    """Where the time of a step goes, in shares of it."""
    rows = [("model and machine", "layout", *_PARTS)]
    for run in published_runs():
        time = run_estimate(run).time
        shares = (seconds(time) / time.total for seconds in _PARTS.values())
        rows.append((run["name"], _layout(run), *(f"{share:.0%}" if share >= 0.005 else "" for share in shares)))
    return _table(rows)


_PARTS: dict[str, Callable[[Any], float]] = {
    "products": lambda time: time.products,
    "attention": lambda time: time.attention,
    "operators": lambda time: time.operators,
    "recomputation": lambda time: time.repeated,
    "links": lambda time: time.communication + time.gradients,
    "bubble": lambda time: time.waiting,
    "optimizer": lambda time: time.update,
}
"""The columns, each with its seconds in a `StepTime`."""

TABLES = {"throughputs": throughput_table, "shares": share_table}
"""What stands in the page between `<!-- NAME -->` and `<!-- /NAME -->`."""


def written(page: str) -> str:
    """The page with its tables as they are now."""
    for name, table in TABLES.items():
        before, _, rest = page.partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition(f"<!-- /{name} -->")
        page = f"{before}<!-- {name} -->\n\n{table()}\n<!-- /{name} -->{after}"
    return page


def _layout(run: Run) -> str:
    degrees = " ".join(f"{axis}{degree}" for axis, degree in run["mesh"].items())
    kind = "recomputed" if run.get("recompute") else "partly recomputed" if "select" in run else ""
    return f"{degrees}, {kind}" if kind else degrees


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [" | ".join(row) for row in rows]
    lines.insert(1, "|".join(["---"] * len(rows[0])))
    return "".join(f"| {line} |\n" for line in lines).replace("| ---", "|---").replace("--- |", "---|")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE} is written anew\n")

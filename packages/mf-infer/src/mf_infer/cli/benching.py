"""What `mf-infer bench` does once its options are read."""

import argparse
import json
import sys

from mf_config.command_line import OK
from mf_infer.bench import PERCENTILES, BenchLoad, BenchResult, measure
from mf_infer.cli.opening import open_model
from mf_infer.cli.progress import Progress

_COLUMNS = (
    "at a time",
    "tokens/s",
    *(f"first p{rank} ms" for rank in PERCENTILES),
    *(f"next p{rank} ms" for rank in PERCENTILES),
)


def bench(parsed: argparse.Namespace) -> int:
    """Measure each number of requests at a time, and print what was found; returns the exit status."""
    loads = [
        BenchLoad(
            concurrency=concurrency,
            requests=max(parsed.requests, concurrency),
            prompt_tokens=parsed.prompt_tokens,
            answer_tokens=parsed.answer_tokens,
        )
        for concurrency in parsed.concurrency
    ]
    llm = open_model(parsed)
    if not parsed.json:
        print("  ".join(_COLUMNS))
    for load in loads:
        print(f"{load.concurrency} at a time; first of all, graphs compile", file=sys.stderr)
        result = measure(llm, load, Progress("requests"))
        print(json.dumps(result.as_json()) if parsed.json else _row(result), flush=True)
    return OK


def _row(result: BenchResult) -> str:
    times = [1000 * value for values in (result.first_token_s, result.next_token_s) for value in values.values()]
    cells = [str(result.load.concurrency), f"{result.tokens_per_second:.1f}", *(f"{value:.1f}" for value in times)]
    return "  ".join(cell.rjust(len(column)) for cell, column in zip(cells, _COLUMNS, strict=True))

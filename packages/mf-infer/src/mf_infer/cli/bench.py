"""`mf-infer bench`: how fast a model answers."""

import argparse
import json
import sys

from mf_config.command_line import OK, Command
from mf_infer.bench import PERCENTILES, BenchLoad, BenchResult, measure
from mf_infer.cli.progress import Progress
from mf_infer.cli.settings import add_load_options, open_model

_COLUMNS = (
    "at a time",
    "tokens/s",
    *(f"first p{rank} ms" for rank in PERCENTILES),
    *(f"next p{rank} ms" for rank in PERCENTILES),
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_load_options(parser)
    load = parser.add_argument_group("load")
    load.add_argument(
        "--concurrency",
        type=int,
        nargs="+",
        default=[1, 4, 8],
        metavar="N",
        help="requests at a time; what is above --batch-size waits",
    )
    load.add_argument("--requests", type=int, default=32, metavar="N", help="requests for each of these numbers")
    load.add_argument("--prompt-tokens", type=int, default=64, metavar="N", help="length of each prompt")
    load.add_argument("--answer-tokens", type=int, default=64, metavar="N", help="length of each answer")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object for each number of requests at a time"
    )


def _bench(parsed: argparse.Namespace) -> int:
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


BENCH = Command("bench", "Measure time to the first token, between tokens, and throughput.", _add_arguments, _bench)
"""The subcommand."""

"""`mf-infer bench`: how fast a model answers."""

import argparse

from mf_config.command_line import Command
from mf_infer.cli.settings import add_load_options


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
    # Not on top: help texts need not wait for what reads models.
    from mf_infer.cli.benching import bench

    return bench(parsed)


BENCH = Command("bench", "Measure time to the first token, between tokens, and throughput.", _add_arguments, _bench)
"""The subcommand."""

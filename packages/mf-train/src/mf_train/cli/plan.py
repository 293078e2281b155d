"""`mf-train plan`: what a run takes of memory, links and time, without a device."""

import argparse
import json
import sys

from mf_config import decode, load
from mf_config.command_line import Command, add_override_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", help="a run configuration, YAML")
    add_override_option(parser)
    parser.add_argument(
        "--devices", type=_positive, metavar="N", help="devices of the job; as the degrees say if absent"
    )
    parser.add_argument(
        "--device", metavar="NAME", help="a device that mf has a card of, or a card of your own, a JSON file"
    )
    parser.add_argument(
        "--back-end",
        choices=("explicit", "mindspore"),
        default="explicit",
        help="who divides the work: mf itself (explicit), or MindSpore's own parallelism, as MindFormers uses it",
    )
    parser.add_argument("--search", action="store_true", help="look for faster layouts of the same rows too")
    parser.add_argument(
        "--compile",
        default="",
        metavar="RANKS",
        help="compile the steps of these ranks by MindSpore's Ascend compiler, for example 0,last; needs no NPU",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Estimate, print, and return the exit status: 1 where the layout does not fit, 2 where it is impossible."""
    document = load(arguments.config, arguments.overrides)
    config = decode(document)
    # On demand: the planner loads NumPy, which would double the time in which the other commands start.
    from mf_parallel.planner.card import device_card
    from mf_parallel.planner.layout import BackEnd
    from mf_train.planning.answer import Question, answer
    from mf_train.records.utilization import card_of

    found = answer(
        Question(
            document=document,
            overrides=tuple(arguments.overrides),
            config=config,
            card=device_card(arguments.device) if arguments.device else card_of(config),
            devices=arguments.devices,
            back_end=BackEnd(arguments.back_end),
            searches=arguments.search,
            compiles=arguments.compile,
        )
    )
    if arguments.json:
        print(json.dumps(found.to_json()))
    else:
        for problem in found.problems:
            print(problem, file=sys.stderr)
        print(found.page())
    return found.status


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


PLAN = Command("plan", "Say what a run takes of memory, links and time; needs no device.", add_arguments, run)
"""The subcommand."""

"""`mf-train plan`: what a run takes of memory, links and time, without a device."""

import json
import sys
from argparse import Namespace

from mf_config import decode, load
from mf_parallel.planner.card import device_card
from mf_parallel.planner.layout import BackEnd
from mf_train.planning.answer import Question, answer
from mf_train.records.utilization import card_of


def run(arguments: Namespace) -> int:
    """Estimate, print, and return the exit status: 1 where the layout does not fit, 2 where it is impossible."""
    document = load(arguments.config, arguments.overrides)
    config = decode(document)
    found = answer(
        Question(
            document=document,
            overrides=tuple(arguments.overrides),
            config=config,
            card=device_card(arguments.device) if arguments.device else card_of(config),
            devices=arguments.devices,
            back_end=BackEnd(arguments.back_end) if arguments.back_end else None,
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

"""The subcommands of `mf-train` and their options; the module that does the work of one is imported when it runs."""

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from mf_config.cli.commands import add_explain_options
from mf_config.command_line import Command, add_override_option, run_of

SCHEDULE = "lr_schedule"
"""What `explain` can draw of a run."""

UPDATES = 1000
"""Length of a run where nothing says it."""


def _add_run_options(parser: ArgumentParser) -> None:
    parser.add_argument("config", help="a run configuration, YAML")
    add_override_option(parser)
    parser.add_argument("--workers", type=_positive, default=1, metavar="N", help="run in N processes")
    _add_machine_options(parser)
    parser.add_argument(
        "--stop-after", type=_positive, metavar="STEPS", help="stop, with a checkpoint, when this start has done STEPS"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def _add_machine_options(parser: ArgumentParser) -> None:
    options = parser.add_argument_group("several machines", "the same command on each, with its own --node-rank")
    options.add_argument("--local-workers", type=_positive, metavar="N", help="how many of the processes start here")
    options.add_argument("--node-rank", type=int, metavar="R", help="number of this machine, from 0")
    options.add_argument("--master-address", metavar="HOST", help="name or address of machine 0")
    options.add_argument("--master-port", type=_positive, metavar="PORT", help="a free port there (8118)")


def _add_plan_options(parser: ArgumentParser) -> None:
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
        help="who divides the work: mf itself (explicit), or MindSpore's own parallelism; as in the run if absent",
    )
    parser.add_argument("--search", action="store_true", help="look for faster layouts of the same rows too")
    parser.add_argument(
        "--compile",
        default="",
        metavar="RANKS",
        help="compile the steps of these ranks by MindSpore's Ascend compiler, for example 0,last; needs no NPU",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_report_options(parser: ArgumentParser) -> None:
    parser.add_argument("output_dir", type=Path, help="the output_dir of a training run, going on or ended")
    parser.add_argument("--to", type=Path, metavar="FILE", help="where to write it; report.html in output_dir without")
    parser.add_argument("--json", action="store_true", help="print the report's path as JSON")


def _add_explain_options(parser: ArgumentParser) -> None:
    add_explain_options(parser)
    parser.add_argument("config", nargs="?", help=f"with {SCHEDULE}: a run configuration, whose rates are shown")
    parser.add_argument("--plot", action="store_true", help="draw the rates as a curve")
    parser.add_argument(
        "--updates", type=int, metavar="N", help=f"updates of the run; total_steps, else {UPDATES}, where absent"
    )
    add_override_option(parser)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


RUN = Command("run", "Do what the configuration's run_mode says.", _add_run_options, run_of("mf_train.cli.run"))
PLAN = Command(
    "plan",
    "Say what a run takes of memory, links and time; needs no device.",
    _add_plan_options,
    run_of("mf_train.cli.plan"),
)
REPORT = Command(
    "report",
    "Draw a run on one page: curves, samples, configuration.",
    _add_report_options,
    run_of("mf_train.cli.report"),
)
EXPLAIN = Command(
    "explain",
    "Say what a key does; draw the learning rate of a run.",
    _add_explain_options,
    run_of("mf_train.cli.explain"),
)

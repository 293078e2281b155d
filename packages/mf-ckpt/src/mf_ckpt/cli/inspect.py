"""`mf-ckpt inspect`: what a checkpoint holds."""

from argparse import ArgumentParser, Namespace

from mf_ckpt.cli.output import PATH_HELP, add_json_option, add_strategy_option, open_path, print_json, print_text
from mf_ckpt.cli.report import as_text, describe
from mf_config.command_line import OK, Command
from mf_config.problems import UserError


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help=PATH_HELP)
    parser.add_argument(
        "--match", metavar="GLOB", default="*", help="list only tensors of such names: '*.q_proj.weight'"
    )
    add_strategy_option(parser)
    add_json_option(parser)


def _run(arguments: Namespace) -> int:
    report = describe(open_path(arguments.path, arguments.strategy), arguments.match)
    if arguments.match != "*" and not report["weights"]["count"] + report["optimizer"]["count"]:
        raise UserError(
            f"{arguments.path}: no tensor matches {arguments.match!r}; run inspect without --match to see all"
        )
    if arguments.json:
        print_json(report)
    else:
        print_text(as_text(report))
    return OK


COMMAND = Command("inspect", "List tensors, types, shapes and sizes.", _add_arguments, _run)

"""`mf-ckpt inspect`: what a checkpoint holds."""

from argparse import Namespace

from mf_ckpt.cli.output import open_path, print_json, print_text
from mf_ckpt.cli.report import as_text, describe
from mf_config.command_line import OK
from mf_config.problems import UserError


def run(arguments: Namespace) -> int:
    """Print what the checkpoint holds; returns the exit status."""
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

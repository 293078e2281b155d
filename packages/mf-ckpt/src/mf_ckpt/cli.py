"""The command line `mf-ckpt`."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from mf_ckpt.manifest import MANIFEST
from mf_ckpt.reader import open_checkpoint
from mf_ckpt.report import as_text, describe, printable
from mf_ckpt.retention import find
from mf_ckpt.verification import verify
from mf_config.command_line import FAILURE, OK, Command, run_command_line
from mf_config.problems import UserError

_PATH_HELP = (
    "a checkpoint folder of mf or Hugging Face form, a .safetensors file, or a run's output_dir (its newest checkpoint)"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mf-ckpt`.

    Args:
        arguments: the words after the program's name; those of the process where None.

    Returns:
        Exit status: 0 done, 1 `verify` found a fault, 2 a user's mistake.
    """
    return run_command_line("mf-ckpt", "Look at and check checkpoints of language models.", _COMMANDS, arguments)


def _add_inspect(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help=_PATH_HELP)
    parser.add_argument(
        "--match", metavar="GLOB", default="*", help="list only tensors of such names: '*.q_proj.weight'"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _inspect(arguments: Namespace) -> int:
    report = describe(open_checkpoint(find(arguments.path)), arguments.match)
    if arguments.match != "*" and not report["weights"]["count"] + report["optimizer"]["count"]:
        raise UserError(
            f"{arguments.path}: no tensor matches {arguments.match!r}; run inspect without --match to see all"
        )
    _print(json.dumps(report, indent=2) if arguments.json else as_text(report))
    return OK


def _add_verify(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help=_PATH_HELP)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _verify(arguments: Namespace) -> int:
    path = find(arguments.path)
    findings = verify(path)
    has_checksums = (path / MANIFEST).exists()
    if arguments.json:
        rows = [{"path": str(finding.path), "what": finding.what} for finding in findings]
        _print(json.dumps({"path": str(path), "has_checksums": has_checksums, "findings": rows}, indent=2))
    elif findings:
        _print("\n".join(printable(str(finding)) for finding in findings))
    elif has_checksums:
        _print(f"{path}: sound; every file is as it was saved")
    else:
        _print(f"{path}: headers and index are sound; it has no {MANIFEST} with checksums of the content")
    return FAILURE if findings else OK


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


_COMMANDS = (
    Command("inspect", "List tensors, types, shapes and sizes.", _add_inspect, _inspect),
    Command("verify", "Check every file of a checkpoint; exit status 1 where a fault is found.", _add_verify, _verify),
)

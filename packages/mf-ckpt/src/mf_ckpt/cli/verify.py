"""`mf-ckpt verify`: whether a checkpoint is as it was saved."""

from argparse import Namespace

from mf_ckpt.cli.output import print_json, print_text
from mf_ckpt.cli.texts import printable
from mf_ckpt.reading.verification import verify
from mf_ckpt.store.manifest import MANIFEST
from mf_ckpt.store.run_folder import find
from mf_config.command_line import FAILURE, OK


def run(arguments: Namespace) -> int:
    """Print every fault; returns 1 where there is one."""
    path = find(arguments.path)
    findings = verify(path, arguments.strategy)
    has_checksums = (path / MANIFEST).exists()
    if arguments.json:
        rows = [{"path": str(finding.path), "what": finding.what} for finding in findings]
        print_json({"path": str(path), "has_checksums": has_checksums, "findings": rows})
    elif findings:
        print_text("\n".join(printable(str(finding)) for finding in findings))
    elif has_checksums:
        print_text(f"{path}: sound; every file is as it was saved")
    else:
        print_text(f"{path}: headers and index are sound; there is no {MANIFEST} with checksums of all content")
    return FAILURE if findings else OK

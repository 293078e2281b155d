"""Cutting a checkpoint for another mesh with mf-ckpt, against copying it and against other libraries.

A model of Llama's shapes is cut for tp=2 and cut anew for tp=4, pp=2 (MindSpore's function knows no stages: for tp=4).
`copy` is `cp` of the same files with a sync, the least that any tool has to do. All contenders wait until their files
are on the disk, and what they read is in the system's cache.

Example:
    python benchmarks/bench_reshard.py --peer copy mindspore --megabytes 2000
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROUNDS, Contender, compare, report

WORKER = Path(__file__).with_name("reshard_worker.py")
PEERS = ("copy", "mindspore", "torch")
PEER_PYTHON = "MF_PEER_PYTHON"
FORM_OF_PEER = {"copy": "mf", "mindspore": "mindspore", "torch": "mf"}
"""The form of the checkpoint that is read; for a library's own form both read that."""


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", nargs="+", choices=PEERS, default=PEERS, help="what to compare with")
    parser.add_argument(
        "--peer-python",
        default=os.environ.get(PEER_PYTHON, sys.executable),
        help=f"the Python that has the peers installed; else that of the variable {PEER_PYTHON}, or this one",
    )
    parser.add_argument("--megabytes", type=int, default=2000, help="size of the checkpoint")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each runs")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to be measured")
    parser.add_argument("--json", type=Path, help="add the results to this file, one JSON object a line")
    return parser.parse_args()


def reason_to_skip(python: str, peer: str) -> str:
    """Why a peer can't be measured; empty where it can."""
    if peer == "copy":
        return ""
    done = subprocess.run([python, "-c", f"import numpy, {peer}"], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def main() -> None:
    """Compare with every peer that is there."""
    options = parse()
    variables = {"OMP_WAIT_POLICY": "passive"}
    for peer in options.peer:
        python = sys.executable if peer == "copy" else options.peer_python
        reason = reason_to_skip(python, peer)
        if reason:
            sys.stdout.write(f"{peer}: skipped, {python} can't import it: {reason}\n\n")
            continue
        with tempfile.TemporaryDirectory(prefix="reshard-", dir=options.folder) as folder:
            prepare = [sys.executable, str(WORKER), "prepare", FORM_OF_PEER[peer], folder, str(options.megabytes)]
            subprocess.run(prepare, check=True)
            ours, theirs = (
                Contender(name, (program, str(WORKER), "run", name, FORM_OF_PEER[peer], folder), variables)
                for name, program in (("mf", sys.executable), (peer, python))
            )
            title = f"mf-ckpt reshard and {peer}, {options.megabytes} MB"
            settings = {"megabytes": options.megabytes, "folder": str(options.folder)}
            report(compare(title, ours, theirs, rounds=options.rounds, settings=settings), options.json)


main()

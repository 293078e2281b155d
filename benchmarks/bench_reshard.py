"""Cutting a checkpoint for another mesh with mf-ckpt, against copying it and against other libraries.

A model of Llama's shapes is cut for tp=2 and cut anew for tp=4, pp=2 (MindSpore's function knows no stages: for tp=4).
`copy` is `cp` of the same files with a sync, the least that any tool has to do. All contenders wait until their files
are on the disk, and what they read is in the system's cache.

Example:
    python benchmarks/bench_reshard.py --peer copy mindspore --megabytes 2000
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Contender, checkpoint_options, compare, python_of, reason_to_skip, report

WORKER = Path(__file__).with_name("reshard_worker.py")
PEERS = ("copy", "mindspore", "torch")
FORM_OF_PEER = {"copy": "mf", "mindspore": "mindspore", "torch": "mf"}
"""The form of the checkpoint that is read; for a library's own form both read that."""


def main() -> None:
    """Compare with every peer that is there."""
    parser = checkpoint_options(__doc__, PEERS, megabytes=2000)
    options = parser.parse_args()
    variables = {"OMP_WAIT_POLICY": "passive"}
    for peer in options.peer:
        python = python_of(peer, options.peer_python)
        reason = "" if peer == "copy" else reason_to_skip(python, peer)
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

"""Saving and loading a checkpoint with mf-ckpt, against other libraries.

mf-ckpt writes checksums and waits until all is on the disk; the others do neither. `--durability` says what is
compared: `synced`, the others' files are synced too, within the time measured; `unsynced`, mf-ckpt leaves that out as
well (its checksums stay); `own`, each as it is shipped. Loading copies every tensor into memory; the file's pages are
in the system's cache, as the save left them.

Example:
    python benchmarks/bench_save_load.py --peer safetensors --megabytes 1000 --durability synced unsynced
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROUNDS, Contender, compare, report

WORKER = Path(__file__).with_name("save_load_worker.py")
PEERS = ("safetensors", "mindspore", "torch")
PEER_PYTHON = "MF_PEER_PYTHON"
DURABILITIES = ("synced", "unsynced", "own")


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", nargs="+", choices=PEERS, default=PEERS, help="libraries to compare with")
    parser.add_argument(
        "--peer-python",
        default=os.environ.get(PEER_PYTHON, sys.executable),
        help=f"the Python that has the peers installed; else that of the variable {PEER_PYTHON}, or this one",
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the checkpoint")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each runs")
    parser.add_argument("--durability", nargs="+", choices=DURABILITIES, default=("synced", "unsynced"))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on the disk to be measured")
    parser.add_argument("--json", type=Path, help="add the results to this file, one JSON object a line")
    return parser.parse_args()


def reason_to_skip(python: str, library: str) -> str:
    """Why a peer can't be measured; empty where it can."""
    done = subprocess.run([python, "-c", f"import numpy, {library}"], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def main() -> None:
    """Compare with every peer that is there."""
    options = parse()
    # MindSpore's worker threads spin while they wait unless this is set; it writes caches where it is started.
    variables = {"OMP_WAIT_POLICY": "passive"}
    for peer in options.peer:
        reason = reason_to_skip(options.peer_python, peer)
        if reason:
            sys.stdout.write(f"{peer}: skipped, {options.peer_python} can't import it: {reason}\n\n")
            continue
        for durability in options.durability:
            words = (str(WORKER), str(options.folder), str(options.megabytes), durability)
            ours, theirs = (
                Contender(name, (python, words[0], name, *words[1:]), variables)
                for name, python in (("mf", sys.executable), (peer, options.peer_python))
            )
            title = f"mf-ckpt and {peer}, {options.megabytes} MB, {durability}"
            settings = {"megabytes": options.megabytes, "durability": durability, "folder": str(options.folder)}
            report(compare(title, ours, theirs, rounds=options.rounds, settings=settings), options.json)


main()

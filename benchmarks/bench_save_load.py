"""Saving and loading a checkpoint with mf-ckpt, against other libraries.

mf-ckpt writes checksums and waits until all is on the disk; the others do neither. `--durability` says what is
compared: `synced`, the others' files are synced too, within the time measured; `unsynced`, mf-ckpt leaves that out as
well (its checksums stay); `own`, each as it is shipped. Loading copies every tensor into memory; the file's pages are
in the system's cache, as the save left them.

Example:
    python benchmarks/bench_save_load.py --peer safetensors --megabytes 1000 --durability synced unsynced
"""

import sys
from pathlib import Path

from harness import Contender, checkpoint_options, compare, python_of, reason_to_skip, report

WORKER = Path(__file__).with_name("save_load_worker.py")
PEERS = ("safetensors", "mindspore", "torch")
DURABILITIES = ("synced", "unsynced", "own")


def main() -> None:
    """Compare with every peer that is there."""
    parser = checkpoint_options(__doc__, PEERS, megabytes=1000)
    parser.add_argument("--durability", nargs="+", choices=DURABILITIES, default=("synced", "unsynced"))
    options = parser.parse_args()
    # MindSpore's worker threads spin while they wait unless this is set; it writes caches where it is started.
    variables = {"OMP_WAIT_POLICY": "passive"}
    for peer in options.peer:
        peer_python = python_of(peer, options.peer_python)
        reason = reason_to_skip(peer_python, peer)
        if reason:
            sys.stdout.write(f"{peer}: skipped, {peer_python} can't import it: {reason}\n\n")
            continue
        for durability in options.durability:
            words = (str(WORKER), str(options.folder), str(options.megabytes), durability)
            ours, theirs = (
                Contender(name, (python, words[0], name, *words[1:]), variables)
                for name, python in (("mf", sys.executable), (peer, peer_python))
            )
            title = f"mf-ckpt and {peer}, {options.megabytes} MB, {durability}"
            settings = {"megabytes": options.megabytes, "durability": durability, "folder": str(options.folder)}
            report(compare(title, ours, theirs, rounds=options.rounds, settings=settings), options.json)


main()

"""A process that computes a piece of another process's model: `python -m mf_infer.processes.follower SETTINGS`.

SETTINGS is a `context` section as JSON.
"""

import json
import os
import sys
import threading
from typing import Any

from mf_config.sections.context import ContextSection
from mf_models.threads import sleep_while_waiting
from mf_parallel.process_group import ProcessGroup

_ABANDONED = 1


def main() -> None:
    """Follow the first process of this job until it ends."""
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    sleep_while_waiting()
    # After the threads are told to sleep: MindSpore reads that when it is loaded.
    from mf_infer.processes.leading import follow
    from mf_infer.processes.pieces import open_piece
    from mf_infer.processes.team import Team
    from mf_models.device import prepare

    settings: dict[str, Any] = json.loads(sys.argv[1])
    prepare(ContextSection(**settings, device_id=ProcessGroup.from_environment().rank))
    team = Team()
    follow(open_piece(team), team)


def _end_with_the_first() -> None:
    """End this process when its standard input ends, which the first process holds: also where that one was killed."""
    # Not by `sys.stdin`, whose lock this thread would hold while the interpreter shuts down, which Python takes amiss.
    os.read(sys.stdin.fileno(), 1)
    os._exit(_ABANDONED)


if __name__ == "__main__":
    main()

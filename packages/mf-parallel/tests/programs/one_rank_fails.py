"""Rank 1 raises; rank 0 would wait for minutes."""

import sys
import time

from mf_parallel.process_group import ProcessGroup

processes = ProcessGroup.from_environment()
sys.stdout.write(f"rank {processes.rank} of {processes.size}\n")
sys.stdout.flush()
if processes.rank == 1:
    raise ValueError("this rank fails")
time.sleep(300)

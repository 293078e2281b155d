"""What the threads of MindSpore's libraries do while they wait; imports no MindSpore."""

import os


def sleep_while_waiting() -> None:
    """Let idle threads of the OpenMP pool sleep, unless the user has chosen otherwise by the variable OMP_WAIT_POLICY.

    By default they spin, and on few cores they starve the threads that work. Call it before MindSpore is imported: the
    variable is read then, and has no effect where the program imported MindSpore before.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

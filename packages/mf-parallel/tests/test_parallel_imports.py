"""The modules that plan load no framework."""

import subprocess
import sys

HOST_MODULES = ["buckets", "launch", "names", "plan", "process_group", "rules", "simulation", "testing"]


def test_host_modules_do_not_import_mindspore():
    lines = ["import sys, mf_parallel", *(f"import mf_parallel.{module}" for module in HOST_MODULES)]
    script = "\n".join([*lines, "sys.exit('mindspore' in sys.modules)"])
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

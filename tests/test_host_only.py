"""Modules that need no device load no MindSpore, and load fast, when they are imported."""

import json
import statistics
import subprocess
import sys
import warnings
from itertools import groupby
from pathlib import Path

import pytest

from measures.source import read_repository

ROOT = Path(__file__).parent.parent
REPEATS = 3
IMPORT_LIMIT_S = 0.3
"""Seconds that imports may take beyond Python's own start."""

REPORT = """
import importlib, json, sys, time
report = []
for name in sys.argv[1:]:
    started = time.perf_counter()
    importlib.import_module(name)
    report.append([name, time.perf_counter() - started, "mindspore" in sys.modules])
print(json.dumps(report))
"""

MODULES = {
    distribution: [source.module for source in sources]
    for distribution, sources in groupby(read_repository(ROOT).host_only_modules(), lambda source: source.distribution)
}


def import_all(modules, folder):
    command = [sys.executable, "-c", REPORT, *modules]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("distribution", ["mf_config", "mf_ckpt", "mf_data", "mf_parallel", "mf_models"])
def test_the_contracts_name_modules_of_the_package(distribution):
    assert MODULES[distribution]


@pytest.mark.parametrize("distribution", MODULES)
def test_host_only_modules_load_no_mindspore(distribution, tmp_path):
    report = import_all(MODULES[distribution], tmp_path)

    assert [name for name, _, loaded in report if loaded][:1] == []


@pytest.mark.parametrize("distribution", MODULES)
def test_host_only_modules_load_fast(distribution, tmp_path):
    # What all take together bounds what each takes alone. A busy machine is no defect, so too long is only told.
    reports = [import_all(MODULES[distribution], tmp_path) for _ in range(REPEATS)]
    total = statistics.median(sum(seconds for _, seconds, _ in report) for report in reports)
    if total > IMPORT_LIMIT_S:
        slowest = max(reports[-1], key=lambda row: row[1])[0]
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.warn(f"imports of {distribution} take {total:.2f} s, most of it {slowest}", stacklevel=1)

"""The JSON Schema says the same of real files as the loader, with all packages installed.

The folder of the files is named by the environment variable MF_REAL_CONFIGS; without it there is nothing to read.
"""

import os
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from mf_config import examine, load
from mf_config.json_schema import json_schema
from mf_config.problems import errors_in

FOLDER = os.environ.get("MF_REAL_CONFIGS")
FILES = sorted(Path(FOLDER).glob("*.yaml")) if FOLDER else []


@pytest.fixture(scope="module")
def validator():
    return Draft202012Validator(json_schema())


def test_the_schema_of_all_installed_components_is_a_schema():
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.skipif(not FILES, reason="MF_REAL_CONFIGS names no folder of run configurations")
def test_real_files_are_judged_as_the_loader_does(validator):
    disagreements = []
    for path in FILES:
        # How several keys fit together is nothing that a schema sees.
        errors = [problem for problem in errors_in(examine(load(path)).problems) if not problem.rule]
        complaints = [error.message for error in validator.iter_errors(yaml.safe_load(path.read_text("utf-8")))]
        if bool(errors) != bool(complaints):
            disagreements.append((path.name, list(map(str, errors)), complaints))
    assert disagreements == []

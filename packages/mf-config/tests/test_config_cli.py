"""The programs' subcommands that read configurations: what they print, and their exit statuses."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from mf_config.cli import main
from mf_config.decoding import decode
from mf_config.document import load
from mf_config.json_schema import json_schema
from mf_config.reference import reference_page

Write = Callable[..., str]

GOOD = """\
run_mode: train
context: {device_target: CPU}
trainer: {type: ToyTask}
model: {model_config: {type: ToyConfig}}
processor: {tokenizer: {type: ToyTokenizer}}
train_dataset: {data_loader: {type: ToyLoader, dataset_dir: text}}
train_dataset_task: {type: ToyRows}
optimizer: {type: ToyAdam, learning_rate: '1e-3'}
"""
BLOCKED = "seed: 1\n" + GOOD.replace("optimizer:", "optimizer_:").partition("optimizer_:")[0]
BROKEN = "seed: x\nepochs: 2\n" + GOOD


@pytest.fixture(autouse=True)
def _toys(toys: None) -> None:
    """Every command sees the toy components alone."""


def test_a_good_file_shows_its_warnings_and_hides_its_notes(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", write(GOOD)]) == 0
    out, err = capsys.readouterr()
    assert out == "run.yaml:8: optimizer.learning_rate: warning: the text '1e-3' is taken as a number.\n"
    assert err.startswith("valid: 1 warning, ")
    assert err.endswith(" (-v prints them)\n")


def test_verbose_prints_the_notes_too(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "-v", write(GOOD)]) == 0
    out, err = capsys.readouterr()
    assert ": note: " in out
    assert "-v" not in err


def test_a_broken_file_is_refused_with_its_places(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", write(BROKEN)]) == 2
    out, err = capsys.readouterr()
    assert "run.yaml:1: seed: x is not an integer. Allowed: an integer.\n" in out
    assert "Did you mean runner_config.epochs?\n" in out
    assert err.startswith("invalid: 2 errors, 1 warning")


def test_what_blocks_a_run_fails_only_where_that_is_asked(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(BLOCKED)
    assert main(["validate", path]) == 0
    out, err = capsys.readouterr()
    assert ": optimizer: blocks the run: is missing" in out
    assert err.startswith("valid, but can't be run yet: 1 blocker")
    assert main(["validate", "--to-run", path]) == 2
    assert main(["validate", "--to-run", write(GOOD)]) == 0


def test_several_files_are_counted(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write(GOOD, "good.yaml"), write(BLOCKED, "blocked.yaml"), write(BROKEN, "broken.yaml"), "none.yaml"]
    assert main(["validate", *files]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("4 files, 2 valid (1 of them can't be run yet), 2 invalid: 3 errors, 1 blocker, 2 warnings, ")
    assert "none.yaml: no such file.\n" in out


def test_problems_as_json(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--json", write(BROKEN)]) == 2
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert [problem["line"] for problem in found if problem["severity"] == "error"] == [1, 2]
    assert [problem for problem in found if problem["severity"] == "note"]
    assert err == ""


def test_overrides_are_validated_too(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", write(GOOD), "--set", "runner_config.epoch=3"]) == 2
    assert "command line:--set: runner_config.epoch: unknown key." in capsys.readouterr().out


def test_the_resolved_view_is_a_file_of_its_own(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(GOOD)
    assert main(["validate", "--resolved", path, "--set", "seed=5"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("seed: 5 ")
    assert "  # --set\n" in out
    assert "  # run.yaml:1\n" in out
    assert "warning: the text '1e-3'" in err
    assert decode(load(write(out, "all.yaml"))) == decode(load(path, ["seed=5"]))


def test_the_resolved_view_as_json(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--resolved", "--json", write(GOOD)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["config"]["optimizer"] == {"type": "ToyAdam", "learning_rate": 0.001, "betas": [0.9, 0.999]}
    assert found["sources"]["optimizer.learning_rate"] == "run.yaml:8"
    assert found["sources"]["optimizer.betas"] == "default"
    assert found["problems"]


def test_a_broken_file_has_no_resolved_view(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(BROKEN)
    assert main(["validate", "--resolved", path]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "seed: x is not an integer" in err
    assert main(["validate", "--resolved", "--json", path]) == 2
    assert json.loads(capsys.readouterr().out)["config"] is None


def test_only_one_file_is_resolved_at_a_time(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(GOOD)
    assert main(["validate", "--resolved", path, path]) == 2
    assert capsys.readouterr().err == "--resolved takes one file at a time\n"


def test_explained_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "runner_config.epochs"]) == 0
    assert "\n  default: 1\n" in capsys.readouterr().out
    assert main(["explain", "--json", "ToyAdam"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["keys"] == ["learning_rate", "betas"]
    assert main(["explain", "epoch"]) == 2
    assert capsys.readouterr().err == "epoch: no key, type or rule has this name. Did you mean epochs?\n"


def test_the_schema_and_the_reference_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()
    assert main(["schema", "--markdown"]) == 0
    assert capsys.readouterr().out == reference_page().rstrip() + "\n"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    out = capsys.readouterr().out
    for name in ("validate", "explain", "schema", "migrate"):
        assert f"\n    {name} " in out


@pytest.mark.parametrize("command", [[], ["validate"], ["explain"], ["schema"], ["migrate"]])
def test_help_waits_for_nothing_that_reads_configurations(command: list[str]) -> None:
    program = (
        "import sys\n"
        "from mf_config.cli import main\n"
        "try:\n"
        "    main([*sys.argv[1:], '--help'])\n"
        "except SystemExit:\n"
        "    print([name for name in ('mf_config.sections', 'mf_config.rules', 'yaml') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")


def test_validation_needs_no_heavy_module(write: Write) -> None:
    program = (
        "import sys\n"
        "from mf_config.cli import main\n"
        "main(['explain', 'xyzzyplugh'])\n"
        "print([name for name in ('numpy', 'hypothesis', 'jsonschema') if name in sys.modules])\n"
    )
    code = f"import mf_config.components as c; c.announced = lambda: c.EntryPoints()\n{program}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

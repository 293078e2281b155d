"""The command line: what it prints, its exit statuses, and that only `run` loads MindSpore."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mf_config.problems import name_values
from mf_config.schema import declarations
from mf_config.sections.runner import RunnerSection
from mf_train.cli import main

BROKEN = """\
run_mode: train
output_dir: ./output
runner_config:
  epochs: two
  batch_sise: 8
model:
  arch:
    type: LlamaForCausalLM
  model_config:
    type: LlamaConfig
    num_layers: 0
    rms_norm_eps: 1e-5
trainer:
  type: CausalLanguageModelingTrainer
optimizer:
  type: AdamW
  betas: [0.9, 1.5]
lr_schedule:
  type: CosineWithWarmUpLR
  learning_rate: 1e-5
  warmup_steps: 20
  total_steps: 10
run_mode: eval
"""

PROBLEMS = """\
{file}:4: runner_config.epochs: two is not an integer. Allowed: an integer.
{file}:5: runner_config.batch_sise: unknown key. Allowed: {keys}. Did you mean batch_size?
{file}:11: model.model_config.num_layers: 0 is out of range. Allowed: from 1.
{file}:17: optimizer.betas: [0.9, 1.5] is out of range. Allowed: two numbers, each from 0, below 1.
{file}:21: lr_schedule.warmup_steps: 20 exceeds total_steps 10. Allowed: from 0 to 10.
{file}:23: run_mode: key written twice: first at line 1, column 1, again at line 23, column 1 \
(train there, eval here). Allowed: one definition.
"""


def problems(file: Path) -> str:
    """The lines of the broken file's problems."""
    keys = name_values(declarations(RunnerSection))
    return PROBLEMS.format(file=file, keys=keys)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    return path


def test_good_file_has_no_errors(run_file: Path, capsys):
    assert main(["validate", str(run_file)]) == 0
    assert ": error" not in capsys.readouterr().out


def test_every_problem_of_a_broken_file_is_named_with_its_line(broken: Path, capsys):
    assert main(["validate", str(broken)]) == 2
    out, err = capsys.readouterr()
    assert out == problems(broken)
    assert err == "invalid: 6 errors\n"


def test_problems_as_json_of_several_files(broken: Path, run_file: Path, tmp_path: Path, capsys):
    assert main(["validate", "--json", str(broken), str(run_file), str(tmp_path / "none.yaml")]) == 2
    found = json.loads(capsys.readouterr().out)
    errors = [(problem["file"], problem["line"]) for problem in found if problem["severity"] == "error"]
    assert errors == [(str(broken), line) for line in (4, 5, 11, 17, 21, 23)] + [(str(tmp_path / "none.yaml"), 0)]


def test_overrides_are_validated_too(run_file: Path, capsys):
    assert main(["validate", str(run_file), "--set", "runner_config.epoch=3"]) == 2
    assert "command line:--set: runner_config.epoch: unknown key." in capsys.readouterr().out
    assert main(["validate", str(run_file), "--set", "lr_schedule.learning_rate=1e-5"]) == 0


def test_run_refuses_a_broken_file_with_the_same_lines(broken: Path, capsys):
    assert main(["run", str(broken)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == problems(broken) + f"6 errors in {broken}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "0"], "argument --workers: '0' is not a whole number from 1 (see mf-train run --help)\n"),
        (["--workers", "two"], "argument --workers: 'two' is not a whole number from 1 (see mf-train run --help)\n"),
        (
            ["--stop-after", "-1"],
            "argument --stop-after: '-1' is not a whole number from 1 (see mf-train run --help)\n",
        ),
        (["--worker", "2"], "unknown arguments: --worker 2 (see mf-train run --help)\n"),
    ],
)
def test_wrong_options_are_told(run_file: Path, capsys, words, message):
    assert main(["run", str(run_file), *words]) == 2
    assert capsys.readouterr().err == message


def test_unknown_command_names_the_nearest(capsys):
    assert main(["validat", "x.yaml"]) == 2
    assert capsys.readouterr().err == (
        "mf-train: no command is named validat. Allowed: run, plan, report, validate, explain, schema, migrate. "
        "Did you mean validate?\n"
    )


def test_explained_key(capsys):
    assert main(["explain", "weight_decay"]) == 0
    out = capsys.readouterr().out
    assert "Decoupled decay of matrices, relative to the rate." in out
    assert "default: 0.0" in out
    assert main(["explain", "--json", "lr_end"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["default"] == "0.0"
    assert main(["explain", "weight_decai"]) == 2
    assert "weight_decay" in capsys.readouterr().err


def test_schema_is_json_and_knows_the_components(capsys):
    assert main(["schema"]) == 0
    out = capsys.readouterr().out
    schema = json.loads(out)
    assert "runner_config" in schema["properties"]
    for name in ("AdamW", "CosineWithWarmUpLR", "CheckpointMonitor", "PerplexityMetric"):
        assert f'"{name}"' in out


def test_all_but_run_work_without_mindspore(run_file: Path, broken: Path):
    program = (
        "import contextlib, io, sys\n"
        "from mf_train.cli import main\n"
        "names = ('run', 'plan', 'report', 'validate', 'explain', 'schema', 'migrate')\n"
        "helps = [['--help'], *([name, '--help'] for name in names)]\n"
        "for words in (*helps, ['schema'], ['explain', 'epochs'], ['validate', sys.argv[1]], ['run', sys.argv[2]]):\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main(words)\n"
        "print('mindspore' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(run_file), str(broken)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_one_notice_says_what_runs_in_place_of_bfloat16(run_file: Path, capsys, monkeypatch):
    monkeypatch.setattr("mf_train.cli.run.run_mode", lambda _mode: lambda _config, _options: 0)
    keys = ("compute_dtype", "param_init_type", "layernorm_compute_type", "softmax_compute_type", "rotary_dtype")
    settings = [word for key in keys for word in ("--set", f"model.model_config.{key}=bfloat16")]
    assert main(["run", str(run_file), *settings]) == 0
    (notice,) = [line for line in capsys.readouterr().err.splitlines() if "float" in line]
    assert f"all is float32 on CPU, whatever is asked for in {name_values(keys)}" in notice

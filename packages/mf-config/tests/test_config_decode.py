from collections.abc import Callable
from dataclasses import dataclass

import pytest

from mf_config import ConfigError, RunConfig, decode, decode_as, examine, key, load
from mf_config.problems import Problem, Severity

Write = Callable[..., str]
ProblemsOf = Callable[..., list[Problem]]

TWENTY_MISTAKES = """\
seed: 010
run_mode: fintune
output_dir: [a]
use_parallel: Flase
lr_scheduler:
  type: ToyRamp
context:
  device_target: NPU
trainer:
  type: ToyTask
  modelname: x
runner_config:
  epochs: 1:30
  batchsize: 2
  epochs: 3
model:
  seq_length: 64
  arch:
    type: ToyForCausalLM
  model_config:
    type: ToyConfig
    num_heads: none
    kind: gatd
    eos_token_id: [1, -1]
train_dataset:
  data_loader:
    type: TwoLoader
optimizer:
  type: ToyAdam
  learning_rate: -1e-3
  betas: [0.9, 1.5]
  learning_rate: 1e-3
callbacks:
  - type: ToyPrinter
    every: often
  - evry: 5
"""


def _twice(line: int, column: int, again: int, column_again: int, there: str, here: str) -> str:
    return (
        f"key written twice: first at line {line}, column {column}, again at line {again}, column {column_again} "
        f"({there} there, {here} here)"
    )


def test_a_right_file_is_decoded(write: Write, toys: None, train_file: str) -> None:
    config = decode(load(write(train_file), ["seed=3"]))
    assert isinstance(config, RunConfig)
    assert (config.seed, config.runner_config.epochs, config.optimizer.learning_rate) == (3, 2, 1e-3)
    assert type(config.callbacks[0]).__name__ == "ToyPrinter"


def test_twenty_mistakes_are_twenty_problems_in_line_order(problems_of: ProblemsOf) -> None:
    found = [(p.location.line, p.path, p.what, p.suggestion) for p in problems_of(TWENTY_MISTAKES)]
    assert len(found) == 20
    assert found == [
        (1, "seed", "010 is ambiguous (octal or decimal?)", "10"),
        (2, "run_mode", "fintune is not allowed", "finetune"),
        (3, "output_dir", "a list is not a value", ""),
        (4, "use_parallel", "Flase is not a boolean", "False"),
        (5, "lr_scheduler", "unknown key", "lr_schedule"),
        (8, "context.device_target", "NPU is not allowed", "Ascend"),
        (11, "trainer.modelname", "unknown key", "model_name"),
        (13, "runner_config.epochs", "1:30 is not an integer", ""),
        (14, "runner_config.batchsize", "unknown key", "batch_size"),
        (15, "runner_config.epochs", _twice(13, 3, 15, 3, "1:30", "3"), ""),
        (17, "model.seq_length", "unknown key", "model.model_config.seq_length"),
        (22, "model.model_config.num_heads", "none is not an integer", ""),
        (23, "model.model_config.kind", "gatd is not allowed", "gated"),
        (24, "model.model_config.eos_token_id[1]", "-1 is out of range", ""),
        (27, "train_dataset.data_loader.type", "no data_loader is named TwoLoader", "ToyLoader"),
        (30, "optimizer.learning_rate", "-1e-3 is out of range", ""),
        (31, "optimizer.betas[1]", "1.5 is out of range", ""),
        (32, "optimizer.learning_rate", _twice(30, 3, 32, 3, "-1e-3", "1e-3"), ""),
        (35, "callbacks[0].every", "often is not an integer", ""),
        (36, "callbacks[1].type", "is missing", ""),
    ]


def test_a_key_written_twice_spoils_an_otherwise_right_file(write: Write, toys: None, train_file: str) -> None:
    document = load(write(f"{train_file}seed: 2\n"))
    last = train_file.count("\n") + 1
    message = f"run.yaml:{last}: seed: {_twice(1, 1, last, 1, '1', '2')}. Allowed: one definition."
    errors = [str(problem) for problem in examine(document).problems if problem.severity is Severity.ERROR]
    assert errors == [message]
    assert examine(document).config is None
    with pytest.raises(ConfigError, match="key written twice"):
        decode(document)


def test_a_failed_override_stops_the_run(write: Write, toys: None, train_file: str) -> None:
    with pytest.raises(ConfigError, match=r"command line:--set: 'seed' is not an override"):
        decode(load(write(train_file), ["seed"]))


def test_a_wrong_override_is_placed_on_the_command_line(problems_of: ProblemsOf, train_file: str) -> None:
    found = problems_of(train_file, "runner_config.epochs=0", "model.model_config.kind=gatd")
    assert [str(problem) for problem in found] == [
        "command line:--set: model.model_config.kind: gatd is not allowed. Allowed: plain, gated. Did you mean gated?",
        "command line:--set: runner_config.epochs: 0 is out of range. Allowed: from 1.",
    ]


def test_device_of_an_override_decides_what_is_inert(problems_of: ProblemsOf, train_file: str) -> None:
    text = train_file.replace("  type: ToyAdam\n", "  type: ToySgd\n  momentum: 0.9\n")
    notes = [p.what for p in problems_of(text) if p.path == "optimizer.momentum"]
    assert notes == ["has no effect: the toy has none"]
    assert [p for p in problems_of(text, "context.device_target=Ascend") if p.path == "optimizer.momentum"] == []


def test_a_repeated_section_with_a_body_of_its_own_is_warned_of(problems_of: ProblemsOf, train_file: str) -> None:
    assert [p for p in problems_of(train_file) if p.path.startswith("train_dataset_task")] == []
    text = train_file.replace("  dataset_config: *train_dataset\n", "  dataset_config: {seed: 1}\n")
    warnings = [p for p in problems_of(text) if p.path.startswith("train_dataset_task")]
    assert [p.what for p in warnings] == ["is not read: train_dataset is used"]


def test_an_override_of_a_repeated_section_is_warned_of(problems_of: ProblemsOf, train_file: str) -> None:
    found = problems_of(train_file, "train_dataset_task.dataset_config.seed=3")
    assert [str(p) for p in found if p.path.startswith("train_dataset_task")] == [
        "command line:--set: train_dataset_task.dataset_config: warning: is not read: train_dataset is used."
    ]


def test_warnings_and_notes_alone_do_not_stop_a_run(write: Write, toys: None, train_file: str) -> None:
    examined = examine(load(write(train_file.replace("seed: 1", "seed: '1'"))))
    assert examined.config is not None and examined.config.seed == 1
    assert [str(p) for p in examined.problems] == [
        "run.yaml:1: seed: warning: the text '1' is taken as an integer.",
        "run.yaml:10: runner_config.batch_size: note: one step takes 4 rows, 64 tokens for each process "
        "(batch_size 4).",
    ]


def test_what_blocks_a_run_leaves_the_file_valid(write: Write, toys: None, train_file: str) -> None:
    document = load(write(train_file), ["use_parallel=True", "parallel.pipeline_config.pipeline_scheduler=seqpipe"])
    assert decode(document).parallel.pipeline_config.pipeline_scheduler == "seqpipe"
    with pytest.raises(
        ConfigError, match=r"pipeline_scheduler: blocks the run: seqpipe is valid, but can't be run yet"
    ):
        decode(document, to_run=True)
    runs = load(write(train_file), ["use_parallel=True", "parallel.pipeline_config.pipeline_scheduler=gpipe"])
    assert decode(runs, to_run=True).parallel.pipeline_config.pipeline_scheduler == "gpipe"


def test_components_of_no_installed_package_are_left_out_with_a_warning(
    write: Write, install: Callable[..., None], train_file: str
) -> None:
    install()
    examined = examine(load(write(train_file)))
    assert examined.config is not None
    assert examined.config.model.model_config is None
    warnings = {problem.path: problem.what for problem in examined.problems if problem.severity is Severity.WARNING}
    assert warnings["model.model_config"] == "is not checked: no installed package declares any model"
    assert {"trainer", "optimizer", "callbacks[0]"} <= set(warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    port: int = key("TCP port.", 8000, minimum=1, maximum=65535)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    server: Server = key("The server.", Server())
    name: str = key("Its name.")


def test_a_file_of_another_project_is_decoded(write: Write) -> None:
    assert decode_as(File, load(write("name: a\nserver: {port: 1}\n"))) == File(name="a", server=Server(port=1))


def test_mistakes_in_a_file_of_another_project_are_reported_together(write: Write) -> None:
    with pytest.raises(ConfigError) as caught:
        decode_as(File, load(write("name: a\nname: b\nport: 1\nserver:\n  prt: 1\n  port: 0\n")))
    assert str(caught.value).splitlines() == [
        f"run.yaml:2: name: {_twice(1, 1, 2, 1, 'a', 'b')}. Allowed: one definition.",
        "run.yaml:3: port: unknown key. Allowed: server, name. Did you mean server.port?",
        "run.yaml:5: server.prt: unknown key. Allowed: port. Did you mean port?",
        "run.yaml:6: server.port: 0 is out of range. Allowed: from 1, up to 65535.",
        "4 errors in run.yaml",
    ]


def test_an_unknown_key_alone_refuses_the_file(write: Write) -> None:
    with pytest.raises(ConfigError, match=r"^run\.yaml:2: colour: unknown key\. Allowed: server, name\.$"):
        decode_as(File, load(write("name: a\ncolour: red\n")))

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mf_config.command_line import FAILURE, OK, USER_ERROR, Command, run_command_line
from mf_config.problems import ConfigError, Location, Problem, UserError


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?")
    parser.add_argument("--workers", type=int, default=1)


def run_with(action: Callable[[argparse.Namespace], int], *words: str) -> int:
    commands = [Command("run", "run a file", add_options, action), Command("plan", "plan it", add_options, lambda _: 0)]
    return run_command_line("mf-toy", "A toy.", commands, words)


def raising(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def action(_: argparse.Namespace) -> int:
        raise error

    return action


def test_the_status_is_that_of_the_command() -> None:
    seen: list[argparse.Namespace] = []

    def action(arguments: argparse.Namespace) -> int:
        seen.append(arguments)
        return 7

    assert run_with(action, "run", "a.yaml", "--workers", "2") == 7
    assert (seen[0].config, seen[0].workers) == ("a.yaml", 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--colour"], "unknown arguments: --colour (see mf-toy run --help)"),
        (["run", "a.yaml", "--work", "2"], "unknown arguments: --work 2 (see mf-toy run --help)"),
        (["run", "--workers", "two"], "argument --workers: invalid int value: 'two' (see mf-toy run --help)"),
        (["rnu"], "mf-toy: no command is named rnu. Allowed: run, plan. Did you mean run?"),
        (["dance"], "mf-toy: no command is named dance. Allowed: run, plan."),
        ([], "the following arguments are required: COMMAND (see mf-toy --help)"),
    ],
)
def test_wrong_use_is_a_message_and_status_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_with(lambda _: OK, *words) == USER_ERROR == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"{message}\n")


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (UserError("no such key"), USER_ERROR, "no such key\n"),
        (
            ConfigError([Problem(Location("run.yaml", 3), "seed", "x is not an integer", "an integer")]),
            USER_ERROR,
            "run.yaml:3: seed: x is not an integer. Allowed: an integer.\n",
        ),
        (FileNotFoundError(2, "No such file", "a.bin"), FAILURE, "mf-toy: [Errno 2] No such file: 'a.bin'\n"),
        (KeyboardInterrupt(), 130, "mf-toy: interrupted\n"),
    ],
)
def test_errors_become_a_message_and_a_status(
    error: BaseException, status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_with(raising(error), "run") == status
    assert capsys.readouterr().err == message


def test_a_defect_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run_with(raising(ZeroDivisionError()), "run")


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run_with(lambda _: OK, "--help")
    assert caught.value.code == 0
    assert "run a file" in capsys.readouterr().out


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    script = tmp_path / "toy.py"
    script.write_text(
        "import sys\n"
        "from mf_config.command_line import Command, run_command_line\n\n\n"
        "def talk(_):\n"
        "    while True:\n"
        "        print('x' * 1000)\n\n\n"
        "sys.exit(run_command_line('toy', 'A toy.', [Command('talk', 'talks', lambda parser: None, talk)]))\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script), "talk"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == FAILURE


def test_the_words_of_the_process_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["mf-toy", "go"])
    assert run_command_line("mf-toy", "A toy.", [Command("go", "goes", lambda _: None, lambda _: 5)]) == 5

"""Each process logs into its own file, the main one also on the terminal."""

import logging
from pathlib import Path

import pytest

from mf_train.records import logs


@pytest.fixture(autouse=True)
def handlers_of_others():
    """Put the logger back as it was."""
    logger = logging.getLogger("mf_train")
    before = list(logger.handlers)
    yield
    for handler in set(logger.handlers) - set(before):
        handler.close()
    logger.handlers[:] = before


def test_main_process_logs_to_file_and_terminal(tmp_path: Path, capsys):
    logs.configure(tmp_path / "log" / "rank_0.log", is_main=True)
    logging.getLogger("mf_train.anything").info("loss [bold]1.5[/bold]")
    assert capsys.readouterr().err == "loss [bold]1.5[/bold]\n"
    assert (tmp_path / "log" / "rank_0.log").read_text().endswith(" INFO loss [bold]1.5[/bold]\n")


def test_other_processes_log_to_their_file_alone(tmp_path: Path, capsys):
    logs.configure(tmp_path / "rank_1.log", is_main=False)
    logging.getLogger("mf_train.anything").info("hello")
    assert capsys.readouterr().err == ""
    assert "hello" in (tmp_path / "rank_1.log").read_text()


def test_former_log_is_added_to_and_configuring_again_doubles_no_line(tmp_path: Path):
    for text in ("one", "two"):
        logs.configure(tmp_path / "rank_0.log", is_main=False)
        logging.getLogger("mf_train").info(text)
    lines = (tmp_path / "rank_0.log").read_text().splitlines()
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["one", "two"]

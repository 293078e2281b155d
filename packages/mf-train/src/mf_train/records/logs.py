"""Where the log of a run goes: each process into its own file, the main one also to the terminal."""

import logging
from pathlib import Path

from rich.console import Console
from rich.logging import RichHandler

CONSOLE = Console(stderr=True)
"""The terminal. Standard output is for results; a progress bar and the log share this one."""

_ROOT = "mf_train"


def configure(path: Path, is_main: bool) -> None:
    """Send the log of mf-train to a file and, in the main process, to the terminal.

    Args:
        path: this process's log file; folders above it are made, a former log is kept and added to.
        is_main: whether the terminal is this process's to write on.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    logger = logging.getLogger(_ROOT)
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(logging.INFO)
    logger.propagate = False
    to_file = logging.FileHandler(path, encoding="utf-8")
    to_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(to_file)
    if is_main:
        logger.addHandler(_terminal_handler())


def _terminal_handler() -> logging.Handler:
    if CONSOLE.is_terminal:
        return RichHandler(console=CONSOLE, show_path=False, show_level=False, markup=False, highlighter=None)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    return handler

"""The program `mf-data` with its commands."""

from collections.abc import Sequence

from mf_config.command_line import Command, run_command_line
from mf_data.cli import convert, preview, stats, tokenize, train_tokenizer, validate

_COMMANDS = [
    Command("train-tokenizer", "Train a byte-level BPE tokenizer.", train_tokenizer.add_arguments, train_tokenizer.run),
    Command("tokenize", "Tokenize text into a pair of .bin and .idx files.", tokenize.add_arguments, tokenize.run),
    Command("preview", "Show the rows that a run reads, and what the loss counts.", preview.add_arguments, preview.run),
    Command("stats", "Tell how many documents and tokens prepared data holds.", stats.add_arguments, stats.run),
    Command("validate", "Check data files as a whole, and name what is wrong.", validate.add_arguments, validate.run),
    Command("convert", "Turn .bin and .idx files into MindRecord, and back.", convert.add_arguments, convert.run),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: the words after the program's name; those of the process where None.
    Returns:
        The exit status.
    """
    return run_command_line("mf-data", "Text to what a language model trains on.", _COMMANDS, arguments)

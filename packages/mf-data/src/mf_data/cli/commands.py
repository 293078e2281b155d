"""The commands and their options; the module that does the work of one is imported when it runs."""

import os
from argparse import ArgumentParser
from pathlib import Path

from mf_config.command_line import Command, add_override_option, run_of

_TEXT_FIELD = "text"
"""Where a record holds its document, unless a field is named."""


def _add_train_tokenizer_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "input",
        nargs="+",
        metavar="INPUT",
        help="a .txt or .jsonl file, a folder of them, or the word python-library (text that comes with Python)",
    )
    parser.add_argument("--vocab-size", type=int, required=True, metavar="N", help="entries, special tokens included")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder that tokenizer.json goes to")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_tokenize_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "input",
        nargs="+",
        metavar="INPUT",
        help="a .txt, .jsonl or .parquet file, also with .gz, .xz or .zst, or a folder of them",
    )
    parser.add_argument("--tokenizer", required=True, metavar="T", help="folder or file of a tokenizer")
    parser.add_argument("--output", required=True, metavar="PREFIX", help="path of the result, without .bin and .idx")
    parser.add_argument(
        "--workers", type=int, metavar="N", default=len(os.sched_getaffinity(0)), help="processes; all cores by default"
    )
    parser.add_argument("--text-field", default=_TEXT_FIELD, metavar="NAME", help="field of a record with the document")
    parser.add_argument(
        "--on-broken", choices=("stop", "skip"), default="stop", help="what a record without text does (stop)"
    )
    parser.add_argument("--no-end-token", action="store_true", help="put no end token behind each document")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_preview_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "config", metavar="CONFIG", help="a run configuration; its tokenizer is trained where a run would"
    )
    parser.add_argument("-n", type=int, default=3, metavar="N", dest="count", help="rows to show (3)")
    parser.add_argument("--from", type=int, default=0, metavar="K", dest="first", help="rows of the run to pass over")
    parser.add_argument("--eval", action="store_true", help="rows of eval_dataset instead of train_dataset")
    add_override_option(parser)
    parser.add_argument(
        "--seq-length", type=int, metavar="T", help="tokens of a row; model.model_config.seq_length by default"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page instead")
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours on the terminal (auto)"
    )


def _add_stats_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "input",
        nargs="+",
        metavar="INPUT",
        help="prefix of .bin and .idx files, a MindRecord or TFRecord file, or files or folders of text",
    )
    parser.add_argument("--tokenizer", metavar="T", help="count the tokens of text; its characters otherwise")
    parser.add_argument("--text-field", default=_TEXT_FIELD, metavar="NAME", help="field of a record with the document")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_validate_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "input",
        nargs="+",
        metavar="INPUT",
        help="a prefix of .bin and .idx files, a MindRecord or TFRecord file, or files or folders of records or text",
    )
    parser.add_argument("--tokenizer", metavar="T", help="ids must be in the vocabulary of this tokenizer")
    parser.add_argument("--text-field", default=_TEXT_FIELD, metavar="NAME", help="field that each record must have")
    parser.add_argument("--handler", metavar="TYPE", help="records must be conversations for this data handler instead")
    parser.add_argument("--json", action="store_true", help="print the problems as JSON, one a line")


def _add_convert_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="prefix of .bin and .idx files, a MindRecord or .tfrecord file, or a file or folder of records",
    )
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="prefix of .bin and .idx files, or a name that ends in mindrecord; of records, one in .jsonl",
    )
    parser.add_argument(
        "--seq-length",
        type=int,
        metavar="N",
        help="join all ids into rows of N + 1; each sequence is a row by default (only from .bin and .idx)",
    )
    parser.add_argument(
        "--handler", metavar="TYPE", help="write records as conversations (messages), which this data handler makes"
    )
    parser.add_argument(
        "--on-broken", choices=("stop", "skip"), default="stop", help="what a broken record does (stop)"
    )


COMMANDS = (
    Command(
        "train-tokenizer",
        "Train a byte-level BPE tokenizer.",
        _add_train_tokenizer_options,
        run_of("mf_data.cli.train_tokenizer"),
    ),
    Command(
        "tokenize",
        "Tokenize text into a pair of .bin and .idx files.",
        _add_tokenize_options,
        run_of("mf_data.cli.tokenize"),
    ),
    Command(
        "preview",
        "Show the rows that a run reads, and what the loss counts.",
        _add_preview_options,
        run_of("mf_data.cli.preview"),
    ),
    Command(
        "stats",
        "Tell how many documents and tokens prepared data holds.",
        _add_stats_options,
        run_of("mf_data.cli.stats"),
    ),
    Command(
        "validate",
        "Check data files as a whole, and name what is wrong.",
        _add_validate_options,
        run_of("mf_data.cli.validate"),
    ),
    Command(
        "convert",
        "Turn .bin and .idx files into MindRecord, and back.",
        _add_convert_options,
        run_of("mf_data.cli.convert"),
    ),
)

"""`mf-infer generate`: prompts in, text out."""

import argparse

from mf_config.command_line import Command
from mf_config.problems import UserError
from mf_infer.cli.settings import add_load_options, add_settings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_load_options(parser)
    parser.add_argument("--prompt", action="append", metavar="TEXT", help="may be given several times")
    files = parser.add_argument_group("many prompts")
    files.add_argument(
        "--input",
        metavar="FILE",
        help="one JSON object a line, with a prompt, prompt_token_ids or messages, and settings of its own",
    )
    files.add_argument(
        "--output", metavar="FILE", help="one JSON object an answer; a file that has answers already is completed"
    )
    add_settings(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object a prompt, with text, token_ids, finish_reason and tokens_per_second",
    )


def _generate(parsed: argparse.Namespace) -> int:
    if bool(parsed.prompt) == bool(parsed.input) or bool(parsed.input) != bool(parsed.output):
        raise UserError("prompts are missing, or given twice. Allowed: --prompt, or --input with --output.")
    # Not on top: help texts need not wait for what reads models.
    from mf_infer.cli.generating import answer_file, answer_prompts

    return answer_file(parsed) if parsed.input else answer_prompts(parsed)


GENERATE = Command("generate", "Continue prompts, each token as it comes.", _add_arguments, _generate)
"""The subcommand."""

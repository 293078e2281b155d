"""`mf-infer generate`: prompts in, text out."""

import argparse
import json
import sys
from pathlib import Path

from mf_config.command_line import FAILURE, OK, Command
from mf_config.problems import UserError
from mf_infer.batch import answered, read_jobs, run_batch
from mf_infer.cli.progress import Progress
from mf_infer.cli.settings import add_load_options, add_settings, given_settings, open_model
from mf_infer.cli.text import print_stream, print_title


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
    return _from_file(parsed) if parsed.input else _from_options(parsed)


def _from_options(parsed: argparse.Namespace) -> int:
    llm = open_model(parsed)
    settings = [llm.default_params(prompt, **given_settings(parsed)) for prompt in parsed.prompt]
    print(f"loaded {llm.path}; the first token waits for graphs to compile", file=sys.stderr)
    if parsed.json:
        for output in llm.generate(parsed.prompt, settings):
            print(json.dumps(output.as_json(), ensure_ascii=False))
        return OK
    for number, (prompt, params) in enumerate(zip(parsed.prompt, settings, strict=True), 1):
        if len(parsed.prompt) > 1:
            print_title(number, prompt)
        print_stream(llm.stream(prompt, params))
    return OK


def _from_file(parsed: argparse.Namespace) -> int:
    # Mistakes in the files need not wait for the model.
    jobs, output = read_jobs(Path(parsed.input)), Path(parsed.output)
    done = answered(output)
    left = [job for job in jobs if job.line not in done]
    print(f"{len(jobs)} prompts, {len(jobs) - len(left)} answered already", file=sys.stderr)
    if not left:
        return OK
    llm = open_model(parsed)
    failed = run_batch(llm, left, given_settings(parsed), output, Progress("answers"))
    if failed:
        print(f"{failed} prompts could not be answered; their lines in {output} say why", file=sys.stderr)
    return FAILURE if failed else OK


GENERATE = Command("generate", "Continue prompts, each token as it comes.", _add_arguments, _generate)
"""The subcommand."""

"""What `mf-infer generate` does once its options are read."""

import argparse
import json
import sys
from pathlib import Path

from mf_config.command_line import FAILURE, OK
from mf_infer.batch import answered, read_jobs, run_batch
from mf_infer.cli.opening import open_model
from mf_infer.cli.progress import Progress
from mf_infer.cli.settings import given_settings
from mf_infer.cli.text import print_stream, print_title
from mf_infer.streams import streams


def answer_prompts(parsed: argparse.Namespace) -> int:
    """Answer the prompts of the command line; returns the exit status."""
    llm = open_model(parsed)
    settings = [llm.default_params(prompt, **given_settings(parsed)) for prompt in parsed.prompt]
    print(f"loaded {llm.path}, {llm.weight_bytes / 1e6:.1f} MB of weights", file=sys.stderr)
    if parsed.json:
        for output in llm.generate(parsed.prompt, settings):
            print(json.dumps(output.as_json(), ensure_ascii=False))
        return OK
    requests = [llm.request(prompt, params) for prompt, params in zip(parsed.prompt, settings, strict=True)]
    for number, pieces in enumerate(streams(llm.engine, requests), 1):
        if len(requests) > 1:
            print_title(number, parsed.prompt[number - 1])
        print_stream(pieces)
    return OK


def answer_file(parsed: argparse.Namespace) -> int:
    """Answer what a file of prompts has left unanswered; returns the exit status."""
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

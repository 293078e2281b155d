"""`mf-infer generate`: prompts in, text out."""

import argparse
import json
import sys

from mf_config.command_line import OK, Command
from mf_infer.cli.text import print_stream, print_title
from mf_infer.llm import LLM

_SAMPLING = ("max_tokens", "temperature", "top_k", "top_p", "seed", "stop")
"""Options that are settings of `SamplingParams` by the same names."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a Hugging Face directory, an mf checkpoint, or a run's output_dir (its newest checkpoint)",
    )
    parser.add_argument("--prompt", action="append", required=True, metavar="TEXT", help="may be given several times")
    settings = parser.add_argument_group("settings", "what is not given is taken from the model's configuration")
    settings.add_argument("--max-tokens", type=int, metavar="N", help="most tokens of the answer")
    settings.add_argument(
        "--temperature", type=float, metavar="T", help="divides the logits; 0 takes the likeliest token each time"
    )
    settings.add_argument("--top-k", type=int, metavar="K", help="draw among the K likeliest tokens; 0 for all")
    settings.add_argument(
        "--top-p", type=float, metavar="P", help="draw among the likeliest tokens that together reach probability P"
    )
    settings.add_argument("--seed", type=int, metavar="SEED", help="the same seed draws the same tokens")
    settings.add_argument(
        "--stop", action="append", metavar="TEXT", help="end the answer before this text; may be given several times"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object a prompt, with text, token_ids, finish_reason and tokens_per_second",
    )


def _generate(parsed: argparse.Namespace) -> int:
    given = {name: getattr(parsed, name) for name in _SAMPLING if getattr(parsed, name) is not None}
    llm = LLM(parsed.model)
    settings = [llm.default_params(prompt, **given) for prompt in parsed.prompt]
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


GENERATE = Command("generate", "Continue prompts, each token as it comes.", _add_arguments, _generate)
"""The subcommand."""

"""`mf-infer serve`: OpenAI's interface over HTTP."""

import argparse
import logging
from pathlib import Path

from mf_config.command_line import Command
from mf_infer.cli.settings import add_load_options
from mf_infer.server.options import KEYS_VARIABLE, ServerOptions, read_keys
from mf_infer.tools.call_reader import known_formats


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_load_options(parser)
    place = parser.add_argument_group("address")
    place.add_argument("--host", default="127.0.0.1", metavar="HOST", help="0.0.0.0 for every network of the machine")
    place.add_argument("--port", type=int, default=8000, metavar="PORT", help="0 for any free one")
    place.add_argument("--name", metavar="NAME", help="what clients call the model; the name of its folder or file")
    who = parser.add_argument_group("clients")
    who.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help=f"API keys, one a line, of which clients must bring one; {KEYS_VARIABLE} may hold more",
    )
    who.add_argument(
        "--cors-origin",
        action="append",
        default=[],
        metavar="URL",
        help="a web page whose scripts may read answers; may be given several times",
    )
    answers = parser.add_argument_group("answers")
    answers.add_argument(
        "--tool-format",
        choices=tuple(known_formats()),
        help="how the model writes calls of tools; what its chat template teaches unless it is given",
    )
    limits = parser.add_argument_group("limits")
    for option, kind, default, text in (
        ("--max-requests", int, 256, "requests that are answered or wait; more get status 429"),
        ("--max-answers", int, 16, "answers to one request: prompts times n, best_of or num_beams"),
        ("--max-prompt-tokens", int, None, "tokens of a prompt; the model's context unless it is given"),
        ("--max-body-bytes", int, 2**20, "bytes of a request's body; more get status 413"),
        ("--timeout", float, 600.0, "seconds that a request may take"),
        ("--drain", float, 30.0, "seconds that running requests get after SIGTERM"),
    ):
        limits.add_argument(option, type=kind, default=default, metavar="N", help=text)


def _serve(parsed: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    options = ServerOptions(
        name=parsed.name or _name_of(Path(parsed.model)),
        keys=read_keys(parsed.key_file),
        origins=tuple(parsed.cors_origin),
        max_requests=parsed.max_requests,
        max_answers=parsed.max_answers,
        max_prompt_tokens=parsed.max_prompt_tokens,
        max_body_bytes=parsed.max_body_bytes,
        timeout_s=parsed.timeout,
        drain_s=parsed.drain,
        tool_format=parsed.tool_format,
    )
    # Not on top: help texts need not wait for the packages of the server and what reads models.
    from mf_infer.cli.opening import open_model
    from mf_infer.server.serving import bind, serve

    with bind(parsed.host, parsed.port) as listener:
        return serve(open_model(parsed), options, listener)


def _name_of(path: Path) -> str:
    """The name of a model's folder, or of its file without what says the format."""
    return path.resolve().name if path.is_dir() else path.stem


SERVE = Command("serve", "Answer requests over HTTP, in OpenAI's interface.", _add_arguments, _serve)
"""The subcommand."""

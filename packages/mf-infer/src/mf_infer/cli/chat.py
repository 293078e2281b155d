"""`mf-infer chat`: a conversation at the terminal."""

import argparse

from mf_config.command_line import OK, Command
from mf_infer.checks import check
from mf_infer.cli.settings import add_load_options, add_settings, given_settings


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_load_options(parser)
    parser.add_argument("--system", metavar="TEXT", help="what the system says before the conversation")
    add_settings(parser)


def _chat(parsed: argparse.Namespace) -> int:
    settings = given_settings(parsed)
    check("n", settings.get("n", 1), settings.get("n", 1) == 1, "1 in a conversation")
    # Not on top: help texts need not wait for rich and what reads models.
    from mf_infer.cli.chat_session import ChatSession
    from mf_infer.cli.opening import open_model

    llm = open_model(parsed)
    # Models without a chat template are refused before the first message.
    _ = llm.chat_template
    ChatSession(llm, settings, parsed.system).run()
    return OK


CHAT = Command("chat", "Talk with a model; /help tells what else can be typed.", _add_arguments, _chat)
"""The subcommand."""

"""From a body to requests for the engine."""

import re
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mf_config.problems import UserError
from mf_data.chat.template import Message
from mf_data.tokenizers.base import Tokenizer
from mf_infer.llm import LLM
from mf_infer.prompts import Prompt, TokenPrompt
from mf_infer.request import Request
from mf_infer.server.bodies import ChatBody, CompletionBody, GenerationBody
from mf_infer.server.errors import ApiError
from mf_infer.server.messages import for_template
from mf_infer.server.options import ServerOptions
from mf_infer.server.replies import ChatReply, CompletionReply, Origin, Reply
from mf_infer.tools.call_reader import CallReader, known_formats, taught_format
from mf_infer.tools.tool_calls import ToolFormat

_READS_TOOLS = re.compile(r"\btools\b")


@dataclass(frozen=True, slots=True)
class Job:
    """What the engine is asked for, and how it is told.

    Attributes:
        requests: one for each prompt.
        reply: writes the answers.
        include_usage: end a stream with the numbers of tokens.
    """

    requests: Sequence[Request]
    reply: Reply
    include_usage: bool

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all prompts."""
        return sum(len(request.prompt_ids) for request in self.requests)


class JobMaker:
    """Checks bodies against the model, and makes jobs of them; may be used in several threads.

    Attributes:
        tokenizer: the model's.
        chat_fault: why the model can't chat; None where it can.
        tool_format: the form in which the model writes calls of tools, None where none is known.
    """

    def __init__(self, llm: LLM, options: ServerOptions):
        """Takes the model and the limits.

        Raises:
            UserError: the model has no tokenizer.
        """
        if llm.tokenizer is None:
            raise UserError("the model has no tokenizer, so there is no text to serve. Allowed: a model with one.")
        self.tokenizer: Tokenizer = llm.tokenizer
        self._llm = llm
        self._options = options
        self.chat_fault = _chat_fault(llm)
        template = "" if self.chat_fault else llm.chat_template.source(tools=())
        self._reads_tools = bool(_READS_TOOLS.search(template))
        self.tool_format = _tool_format(options.tool_format, template)

    def job(self, body: GenerationBody) -> Job:
        """Make a job.

        Raises:
            ApiError: the body asks for another model, or for more than the limits allow.
            UserError: the prompt or the settings don't go with the model.
        """
        if body.model not in (None, self._options.name):
            message = f"model: {body.model!r:.200} is not served. Allowed: {self._options.name}."
            raise ApiError(404, message, param="model", code="model_not_found")
        origin = Origin(secrets.token_hex(12), int(time.time()), self._options.name)
        if isinstance(body, ChatBody):
            return self._chat_job(body, origin)
        assert isinstance(body, CompletionBody)
        return self._completion_job(body, origin)

    def conversation_ids(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> list[int]:
        """Tokens of a conversation whose next message is the assistant's.

        Raises:
            ApiError: the model has no chat template, or one that has no place for the tools.
            UserError: it refuses the messages.
        """
        if self.chat_fault:
            # The fault itself names the model's folder.
            raise ApiError(400, "messages: the model has no chat template. Allowed: /v1/completions.", "messages")
        if tools and not self._reads_tools:
            raise ApiError(400, "tools: the model's chat template has no place for them. Allowed: no tools.", "tools")
        plain = [for_template(message) for message in messages]
        return self._llm.chat_template.encode(plain, self.tokenizer, add_generation_prompt=True, tools=tools)

    def _chat_job(self, body: ChatBody, origin: Origin) -> Job:
        ids = self.conversation_ids(body.messages, body.offered_tools)
        settings = dict(body.settings)
        if body.max_completion_tokens is not None:
            settings["max_tokens"] = body.max_completion_tokens
        if body.logprobs:
            settings["logprobs"] = body.top_logprobs or 0
        form = self.tool_format if body.offered_tools else None
        shown_ids = self._ids_of(form.special_tokens) if form else ()
        requests = self._requests([{"prompt_token_ids": ids}], settings, shown_ids)
        names = {tool["function"]["name"] for tool in body.offered_tools or ()}
        reply = ChatReply(origin, self.tokenizer, partial(CallReader, form, names) if form else None)
        return Job(requests, reply, body.include_usage)

    def _completion_job(self, body: CompletionBody, origin: Origin) -> Job:
        settings = dict(body.settings)
        if body.echo:
            settings["prompt_logprobs"] = settings.get("logprobs")
        requests = self._requests(_prompts(body.prompt), settings)
        return Job(requests, CompletionReply(origin, self.tokenizer, body.echo), body.include_usage)

    def _ids_of(self, tokens: Sequence[str]) -> list[int]:
        """The ids of those of the tokens that the tokenizer has."""
        encoded = (self.tokenizer.encode(token, False, parse_special_tokens=True) for token in tokens)
        return [ids[0] for ids in encoded if len(ids) == 1]

    def _requests(
        self, prompts: Sequence[Prompt], settings: Mapping[str, Any], shown_ids: Collection[int] = ()
    ) -> list[Request]:
        requests = []
        for prompt in prompts:
            ids: TokenPrompt = {"prompt_token_ids": self._checked(self._llm.encode(prompt))}
            params = self._llm.default_params(ids, **settings)
            answers = len(prompts) * max(params.drawn, params.num_beams)
            if answers > self._options.max_answers:
                allowed = f"up to {self._options.max_answers} (prompts times n, best_of or num_beams)"
                raise ApiError(
                    400, f"n: {answers} answers are more than one request may have. Allowed: {allowed}.", "n"
                )
            requests.append(self._llm.request(ids, params, shown_ids=shown_ids))
        return requests

    def _checked(self, ids: list[int]) -> list[int]:
        most = self._options.max_prompt_tokens
        if most is not None and len(ids) > most:
            raise ApiError(400, f"prompt: it has {len(ids)} tokens. Allowed: up to {most} on this server.", "prompt")
        return ids


def _chat_fault(llm: LLM) -> str | None:
    try:
        _ = llm.chat_template
    except UserError as error:
        return str(error)
    return None


def _tool_format(name: str | None, template: str) -> ToolFormat | None:
    return known_formats()[name] if name else taught_format(template)


def _prompts(given: Any) -> list[Prompt]:
    """The prompts of a `prompt`: text, tokens, or a list of either."""
    if isinstance(given, str):
        return [given]
    if isinstance(given[0], int):
        return [{"prompt_token_ids": given}]
    return [prompt if isinstance(prompt, str) else {"prompt_token_ids": prompt} for prompt in given]

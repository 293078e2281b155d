"""From a body to requests for the engine."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mf_config.problems import UserError
from mf_data.chat.template import Message
from mf_data.tokenizers.base import Tokenizer
from mf_infer.llm import LLM
from mf_infer.prompts import Prompt, TokenPrompt
from mf_infer.request import Request
from mf_infer.server.bodies import ChatBody, CompletionBody, GenerationBody
from mf_infer.server.errors import ApiError
from mf_infer.server.options import ServerOptions
from mf_infer.server.replies import ChatReply, CompletionReply, Origin, Reply


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
            ApiError: the model has no chat template.
            UserError: it refuses the messages.
        """
        if self.chat_fault:
            # The fault itself names the model's folder.
            raise ApiError(400, "messages: the model has no chat template. Allowed: /v1/completions.", "messages")
        plain = [_with_text(message) for message in messages]
        return self._llm.chat_template.encode(plain, self.tokenizer, add_generation_prompt=True, tools=tools)

    def _chat_job(self, body: ChatBody, origin: Origin) -> Job:
        tools = None if body.tool_choice == "none" else body.tools
        ids = self.conversation_ids(body.messages, tools)
        settings = dict(body.settings)
        if body.max_completion_tokens is not None:
            settings["max_tokens"] = body.max_completion_tokens
        if body.logprobs:
            settings["logprobs"] = body.top_logprobs or 0
        requests = self._requests([{"prompt_token_ids": ids}], settings)
        return Job(requests, ChatReply(origin, self.tokenizer), body.include_usage)

    def _completion_job(self, body: CompletionBody, origin: Origin) -> Job:
        settings = dict(body.settings)
        if body.echo:
            settings["prompt_logprobs"] = settings.get("logprobs")
        requests = self._requests(_prompts(body.prompt), settings)
        return Job(requests, CompletionReply(origin, self.tokenizer, body.echo), body.include_usage)

    def _requests(self, prompts: Sequence[Prompt], settings: Mapping[str, Any]) -> list[Request]:
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
            requests.append(self._llm.request(ids, params))
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


def _prompts(given: Any) -> list[Prompt]:
    """The prompts of a `prompt`: text, tokens, or a list of either."""
    if isinstance(given, str):
        return [given]
    if isinstance(given[0], int):
        return [{"prompt_token_ids": given}]
    return [prompt if isinstance(prompt, str) else {"prompt_token_ids": prompt} for prompt in given]


def _with_text(message: Message) -> Message:
    """A message whose content is one text, as templates read it."""
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": "\n".join(part["text"] for part in content)}
    return {**message, "content": content or ""}

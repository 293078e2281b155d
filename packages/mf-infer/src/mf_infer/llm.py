"""The Python interface: load a model, generate, stream."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import mf_ckpt
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.loading import load_tokenizer, vocabulary_in
from mf_data.tokenizers.stream import TextStream
from mf_infer.defaults import with_defaults
from mf_infer.engine import Engine
from mf_infer.outputs import CompletionOutput, RequestOutput
from mf_infer.prompts import Prompt, as_list, encode_prompt
from mf_infer.request import Request
from mf_infer.sampling_params import SamplingParams
from mf_models.model_config import ModelConfig
from mf_models.threads import sleep_while_waiting

ON_CPU = ContextSection(device_target="CPU")
"""Compiled graphs on the CPU."""


class LLM:
    """A loaded model. Not for several threads at once.

    Attributes:
        path: the directory that was loaded.
        config: the family's configuration, such as `LlamaConfig`.
        tokenizer: None where the directory has no tokenizer and none was given: prompts are tokens then, and
            answers have no text.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        config: ModelConfig | None = None,
        tokenizer: Tokenizer | None = None,
        context: ContextSection = ON_CPU,
        max_batch_size: int = 8,
    ):
        """Load a model; the first request of each size waits for its graphs to compile.

        Args:
            path: a Hugging Face model directory, an mf checkpoint, or a run's output_dir or checkpoint folder, of which
                the newest complete checkpoint is taken.
            config: a family's configuration in place of the directory's config.json; the weights must fit it.
            tokenizer: in place of the directory's.
            context: the device and MindSpore's settings, which hold for the whole process.
            max_batch_size: most requests computed together, at least 1.
        Raises:
            UserError: there is no complete checkpoint, or it can't be used; the message says why.
        """
        if max_batch_size < 1:
            raise UserError(f"max_batch_size: {max_batch_size} can't be used. Allowed: from 1.")
        # Opened here too, so that a mistake in the path need not wait for MindSpore.
        self.path = mf_ckpt.open(mf_ckpt.find(path)).path
        if tokenizer is None and self.path.is_dir() and vocabulary_in(self.path) is not None:
            tokenizer = load_tokenizer(self.path)
        self.tokenizer = tokenizer
        sleep_while_waiting()
        # Not on top: help texts and mistakes in a path must not wait for MindSpore.
        from mf_infer.loading import open_runner

        self.config: ModelConfig
        self.config, runner = open_runner(self.path, config, context, max_batch_size)
        self._engine = Engine(runner, max_batch_size)

    def generate(
        self, prompts: Prompt | Sequence[Prompt], params: SamplingParams | Sequence[SamplingParams] | None = None
    ) -> list[RequestOutput]:
        """Answer prompts; those that fit in a batch are computed together.

        Args:
            prompts: one prompt or several, each text or `{"prompt_token_ids": [...]}`.
            params: settings of all requests, or one for each prompt; None means `SamplingParams()`.
        Returns:
            One output for each prompt, in the same order.
        Raises:
            UserError: a prompt is empty, longer than the model's context, or has unknown tokens; or the number of
                settings is not that of the prompts.
        """
        asked = as_list(prompts)
        settings = list(params) if isinstance(params, Sequence) else [params or SamplingParams()] * len(asked)
        if len(settings) != len(asked):
            raise UserError(f"{len(settings)} settings for {len(asked)} prompts. Allowed: one, or one for each prompt.")
        requests = [self._request(prompt, chosen) for prompt, chosen in zip(asked, settings, strict=True)]
        for _ in self._run(requests):
            pass
        return [_output(prompt, request) for prompt, request in zip(asked, requests, strict=True)]

    def stream(self, prompt: Prompt, params: SamplingParams | None = None) -> Iterator[str]:
        """Answer one prompt piece by piece; stop iterating, and the request ends.

        Args:
            prompt: text or `{"prompt_token_ids": [...]}`.
            params: settings; None means `SamplingParams()`.
        Yields:
            Pieces of text that are not empty; joined they are the text that `generate` returns.
        Raises:
            UserError: as in `generate`, before the first piece.
        """
        request = self._request(prompt, params or SamplingParams())
        sent = 0
        for _ in self._run([request]):
            piece = "".join(request.pieces[sent:])
            sent = len(request.pieces)
            if piece:
                yield piece

    def default_params(self, prompt: Prompt, **given: Any) -> SamplingParams:
        """Settings for a prompt as the model's configuration has them.

        Args:
            prompt: the prompt, whose length max_decode_length includes.
            **given: settings that replace the configuration's, by their names in `SamplingParams`.
        Returns:
            The settings.
        Raises:
            UserError: a setting can't be used, or max_decode_length leaves no room for an answer.
        """
        return with_defaults(self.config, len(self._encode(prompt)), given)

    def _encode(self, prompt: Prompt) -> list[int]:
        return encode_prompt(prompt, self.tokenizer, self.config.vocab_size)

    def _request(self, prompt: Prompt, params: SamplingParams) -> Request:
        ids = self._encode(prompt)
        room = self.config.max_positions - len(ids)
        if room < 0:
            raise UserError(
                f"prompt: it has {len(ids)} tokens, but the model's context holds {self.config.max_positions}."
            )
        if params.stop_strings and self.tokenizer is None:
            raise UserError("stop: the model has no tokenizer, so there is no text. Allowed: stop_token_ids.")
        text = TextStream(self.tokenizer) if self.tokenizer is not None else None
        return Request(ids, params, self.config.eos_token_ids, room, text)

    def _run(self, requests: Sequence[Request]) -> Iterator[None]:
        """Step the engine until the requests have ended; yields after each step and at the end."""
        for request in requests:
            self._engine.add(request)
        try:
            while any(request.finish_reason is None for request in requests):
                self._engine.step()
                yield
            # The steps of another stream may have ended the requests since the caller looked at them.
            yield
        finally:
            for request in requests:
                request.abort()


def _output(prompt: Prompt, request: Request) -> RequestOutput:
    assert request.finish_reason in ("stop", "length")
    answer = CompletionOutput("".join(request.pieces), request.token_ids, request.finish_reason)
    text = prompt if isinstance(prompt, str) else None
    return RequestOutput(text, request.prompt_ids, [answer], request.seconds)

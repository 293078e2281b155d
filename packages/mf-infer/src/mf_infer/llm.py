"""The Python interface: load a model, generate, stream."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import mf_ckpt
from mf_ckpt.formats.gguf_file import GgufTensors
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_data.chat.template import TEMPLATE_FILE, ChatTemplate, Message
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.loading import load_tokenizer, vocabulary_in
from mf_infer.engine.chunks import Runner
from mf_infer.engine.engine import Engine
from mf_infer.load_options import LoadOptions
from mf_infer.loading.defaults import GENERATION_FILE, GenerationDefaults
from mf_infer.loading.gguf_tokenizer import gguf_tokenizer
from mf_infer.outputs import RequestOutput
from mf_infer.processes.followers import start_followers
from mf_infer.prompts import Prompt, TokenPrompt, as_list, bad_word_ids, encode_prompt
from mf_infer.request import Context, Request
from mf_infer.sampling_params import SamplingParams
from mf_infer.streams import streams
from mf_models.model_config import ModelConfig
from mf_models.threads import sleep_while_waiting

ON_CPU = ContextSection(device_target="CPU", enable_compile_cache=True)
"""Compiled graphs on the CPU, which the next start finds in the user's cache."""


class LLM:
    """A loaded model. Not for several threads at once.

    Attributes:
        path: what was loaded.
        config: the family's configuration, such as `LlamaConfig`.
        tokenizer: None where the model has no tokenizer and none was given: prompts are tokens then, and answers have
            no text.
        engine: computes the requests; a program that has many of them adds them there, and steps it itself.
        defaults: what the model says of generation.
        weight_bytes: memory of the model's parameters in this process.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        config: ModelConfig | None = None,
        tokenizer: Tokenizer | None = None,
        context: ContextSection = ON_CPU,
        options: LoadOptions | None = None,
    ):
        """Load a model; the first request of each size waits for its graphs to compile.

        Args:
            path: a Hugging Face model directory, an mf checkpoint, a GGUF file, or a run's output_dir or checkpoint
                folder, of which the newest complete checkpoint is taken. With `config` also a MindFormers `.ckpt`.
            config: a family's configuration in place of the model's own; the weights must fit it.
            tokenizer: in place of the model's.
            context: the device and MindSpore's settings, which hold for the whole process.
            options: how it is loaded; None means `LoadOptions()`.
        Raises:
            UserError: there is no complete checkpoint, or it can't be used; the message says why.
        """
        options = options or LoadOptions()
        # Opened here too, so that a mistake in the path need not wait for MindSpore.
        reader = mf_ckpt.open(mf_ckpt.find(path))
        self.path = reader.path
        self._folder = self.path if self.path.is_dir() else None
        self.tokenizer = tokenizer or _own_tokenizer(reader)
        sleep_while_waiting()
        self.config: ModelConfig
        self.config, runner = _open(self.path, config, context, options)
        self.engine = Engine(runner, options.max_batch_size)
        self.weight_bytes = runner.weight_bytes
        file = self.path / GENERATION_FILE
        takes_file = config is None and file.is_file()
        self.defaults = GenerationDefaults.of_file(file) if takes_file else GenerationDefaults.of_keys(self.config)
        self.end_ids = frozenset(self.config.eos_token_ids) | frozenset(self.defaults.end_ids)

    def generate(
        self, prompts: Prompt | Sequence[Prompt], params: SamplingParams | Sequence[SamplingParams] | None = None
    ) -> list[RequestOutput]:
        """Answer prompts; as many as fit are computed together.

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
        requests = [self.request(prompt, chosen) for prompt, chosen in zip(asked, settings, strict=True)]
        self._compute(requests)
        texts = [prompt if isinstance(prompt, str) else None for prompt in asked]
        return [request.output(text) for request, text in zip(requests, texts, strict=True)]

    def stream(self, prompt: Prompt, params: SamplingParams | None = None) -> Iterator[str]:
        """Answer one prompt piece by piece; stop iterating, and the request ends.

        Args:
            prompt: text or `{"prompt_token_ids": [...]}`.
            params: settings for one answer; None means `SamplingParams()`. Of beam search, all text comes at the end.
        Yields:
            Pieces of text that are not empty; joined they are the text that `generate` returns.
        Raises:
            UserError: as in `generate`, before the first piece; or the settings ask for several answers.
        """
        request = self.request(prompt, params or SamplingParams())
        with closing(streams(self.engine, [request])) as texts:
            for pieces in texts:
                yield from pieces

    def request(
        self, prompt: Prompt, params: SamplingParams, request_id: str = "", shown_ids: Collection[int] = ()
    ) -> Request:
        """A request for `engine.add_request`.

        Args:
            prompt: text or `{"prompt_token_ids": [...]}`.
            params: settings.
            request_id: any text that no other request has; one is made up where it is empty.
            shown_ids: special tokens that are written out in the text of answers; others are left out.
        Raises:
            UserError: the prompt or the settings don't go with the model.
        """
        ids = self.encode(prompt)
        if len(ids) > self.config.max_positions:
            raise UserError(
                f"prompt: it has {len(ids)} tokens, but the model's context holds {self.config.max_positions}."
            )
        if params.stop_strings and self.tokenizer is None:
            raise UserError("stop: the model has no tokenizer, so there is no text. Allowed: stop_token_ids.")
        width = max(params.drawn, params.num_beams)
        room = min(self.config.max_positions, self.engine.most_tokens(len(ids), width)) - len(ids)
        words = bad_word_ids(params.bad_words, self.tokenizer)
        context = Context(self.end_ids, max(room, 0), self.tokenizer, words, frozenset(shown_ids))
        return Request(ids, params, context, request_id)

    def default_params(self, prompt: Prompt, **given: Any) -> SamplingParams:
        """Settings for a prompt as the model has them: in generation_config.json, else in its configuration.

        Args:
            prompt: the prompt, whose length may count.
            **given: settings that replace the model's, by their names in `SamplingParams`.
        Returns:
            The settings.
        Raises:
            UserError: a setting can't be used, or the model's greatest length leaves no room for an answer.
        """
        return self.defaults.params(len(self.encode(prompt)), self.config.max_positions, given)

    @cached_property
    def chat_template(self) -> ChatTemplate:
        """What writes conversations as text.

        Raises:
            UserError: the model has none, or it is broken.
        """
        if self.tokenizer is None:
            raise UserError("the model has no tokenizer, so it has no chat template. Allowed: prompts.")
        if self._folder is not None and (self._folder / TEMPLATE_FILE).is_file():
            return ChatTemplate.from_pretrained(self._folder)
        return ChatTemplate.from_settings(self.tokenizer.settings)

    def chat_prompt(self, messages: Sequence[Message]) -> TokenPrompt:
        """The prompt that asks for the next message of a conversation.

        Args:
            messages: what was said, from the beginning, each with `role` and `content`.
        Raises:
            UserError: the model has no chat template, or it refuses the messages.
        """
        template = self.chat_template
        assert self.tokenizer is not None
        return {"prompt_token_ids": template.encode(messages, self.tokenizer, add_generation_prompt=True)}

    def encode(self, prompt: Prompt) -> list[int]:
        """Tokens of a prompt; raises `UserError` where it can't be used."""
        return encode_prompt(prompt, self.tokenizer, self.config.vocab_size)

    def _compute(self, requests: Sequence[Request]) -> None:
        """Step the engine until the requests have ended."""
        for request in requests:
            self.engine.add_request(request)
        try:
            while not all(request.has_ended for request in requests):
                self.engine.step()
        finally:
            for request in requests:
                self.engine.abort(request.id)


def _open(
    path: Path, config: ModelConfig | None, context: ContextSection, options: LoadOptions
) -> tuple[ModelConfig, Runner]:
    """Load the weights, in this process or in several."""
    if options.tensor_parallel > 1:
        start_followers(options.tensor_parallel, context)
    # Not on top: help texts and mistakes in a path must not wait for MindSpore.
    from mf_infer.loading.opening import Source, open_runner

    source = Source(path, config, Path(options.adapter) if options.adapter else None, options.weight_type)
    if options.tensor_parallel == 1:
        return open_runner(source, context, options.num_blocks)
    from mf_infer.processes.pieces import open_leading_runner

    return open_leading_runner(source, context, options.num_blocks)


def _own_tokenizer(reader: mf_ckpt.Reader) -> Tokenizer | None:
    """The tokenizer of a model, None where it has none."""
    if isinstance(reader.weights, GgufTensors):
        return gguf_tokenizer(reader.weights.metadata, str(reader.path))
    folder = reader.path if reader.path.is_dir() else reader.path.parent
    return load_tokenizer(folder) if vocabulary_in(folder) is not None else None

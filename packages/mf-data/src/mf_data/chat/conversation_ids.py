"""Conversations to ids and labels: the loss counts what the assistant says, and that it ends."""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from mf_config.problems import UserError
from mf_data.chat.template import ChatTemplate
from mf_data.rows.data_set import IGNORED
from mf_data.texts.conversations import ASSISTANT, SYSTEM, TOOL, Conversation, Message
from mf_data.tokenizers.base import Tokenizer

IdsAndLabels = tuple[list[int], list[int]]
"""Ids of a text, and as many labels beside them (not shifted)."""


def encode_conversation(
    conversation: Conversation, tokenizer: Tokenizer, template: ChatTemplate | None, *, last_turn_only: bool = False
) -> IdsAndLabels:
    """Ids of a conversation that a template writes, or plainly where there is none; see the two functions below."""
    if template is None:
        return encode_plainly(conversation, tokenizer, last_turn_only=last_turn_only)
    return encode_with_template(conversation, tokenizer, template, last_turn_only=last_turn_only)


def template_of(tokenizer: Tokenizer) -> ChatTemplate | None:
    """The chat template in the tokenizer's settings; None where there is none."""
    return ChatTemplate.from_settings(tokenizer.settings) if tokenizer.settings.get("chat_template") else None


def encode_with_template(
    conversation: Conversation, tokenizer: Tokenizer, template: ChatTemplate, *, last_turn_only: bool = False
) -> IdsAndLabels:
    """Ids of a conversation that a template writes.

    Of what the template writes for an answer, that counts which the model would generate: up to the last special token,
    which ends it, without the line feed that some templates put behind.

    Args:
        conversation: what was said.
        tokenizer: makes the ids; the template writes its special tokens.
        template: writes the text.
        last_turn_only: count the last answer alone.
    Raises:
        UserError: the template refuses the messages, or it can't be told where it writes the answers.
    """
    text, answers = template.render_with_answers(conversation.messages, list(conversation.tools) or None)
    ids, spans = tokenizer.encode_with_spans(text)
    starts = np.array([start for start, _ in spans], int)
    labels = [IGNORED] * len(ids)
    for number in _answers(conversation.messages, last_turn_only):
        start, stop = answers[number]
        tokens = np.flatnonzero((starts >= start) & (starts < stop)).tolist()
        special = [token for token in tokens if ids[token] in tokenizer.special_ids]
        for token in tokens if not special else range(tokens[0], special[-1] + 1):
            labels[token] = ids[token]
    return ids, labels


def encode_plainly(conversation: Conversation, tokenizer: Tokenizer, *, last_turn_only: bool = False) -> IdsAndLabels:
    """Ids of a conversation written as `USER: … ASSISTANT: …` with the end token behind each answer.

    This is for tokenizers without a template. Special tokens that are written out in a message stay ordinary text.

    Args:
        conversation: what was said.
        tokenizer: makes the ids, those that begin a text included.
        last_turn_only: count the last answer alone.
    Raises:
        UserError: the tokenizer has no end token, or the conversation needs a template that knows tools.
    """
    if tokenizer.eos_id is None:
        raise UserError("the tokenizer has no end token (eos_token). Allowed: one that says where answers end.")
    if conversation.tools or any(message["role"] == TOOL for message in conversation.messages):
        raise UserError("a conversation with tools needs a chat template. Allowed: a tokenizer with one.")
    counted = _answers(conversation.messages, last_turn_only)
    ids: list[int] = []
    labels: list[int] = []
    said: list[str] = []
    for number, message in enumerate(conversation.messages):
        if message["role"] != ASSISTANT:
            said.append(message["content"] if message["role"] == SYSTEM else f"USER: {message['content']}")
            continue
        prompt = " ".join([*said, "ASSISTANT:"])
        said = []
        first = not ids
        before = _without_end(tokenizer.encode(prompt, first, False), tokenizer.eos_id)
        turn = _without_end(tokenizer.encode(f"{prompt} {message['content']}", first, False), tokenizer.eos_id)
        # Both begin alike, but for a token that reaches over the end of the prompt: it counts as part of the answer.
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, turn, strict=False)))
        answer = [*turn[alike:], tokenizer.eos_id]
        ids += turn[:alike] + answer
        labels += [IGNORED] * alike + (answer if number in counted else [IGNORED] * len(answer))
    return ids, labels


def _without_end(ids: list[int], end_id: int) -> list[int]:
    """The ids of a text without the end token that some tokenizers put behind it."""
    return ids[:-1] if ids[-1:] == [end_id] else ids


def _answers(messages: Sequence[Message], last_turn_only: bool) -> list[int]:
    """Numbers of the messages that count."""
    answers = [n for n, message in enumerate(messages) if message["role"] == ASSISTANT and message.get("loss", True)]
    return answers[-1:] if last_turn_only else answers

"""Rows of conversations with several turns and tools, as GLM3 takes them."""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.chat.conversation_ids import IdsAndLabels
from mf_data.datasets.base import PACKING, PackingMethod, TaskKeys, refuse_loader
from mf_data.datasets.causal_language_model import sample_rows
from mf_data.loader import Loader
from mf_data.progress import Progress
from mf_data.rows.data_set import IGNORED
from mf_data.rows.sample_rows import SampleRows
from mf_data.rows.samples import Samples
from mf_data.rows.settings import RowSettings
from mf_data.rows.token_roles import end_token, filling
from mf_data.texts.conversations import ASSISTANT, SYSTEM, TOOL, Conversation, ConversationLoader, Message, say
from mf_data.tokenizers.base import Tokenizer

_PREFIX = ("[gMASK]", "sop")
_TOOLS = "Answer the following questions as best as you can. You have access to the following tools:\n"
_SPEAKERS = {SYSTEM: "<|system|>", "user": "<|user|>", ASSISTANT: "<|assistant|>", TOOL: "<|observation|>"}
"""What ChatGLM3 is tuned to find. Source: its finetune_demo (preprocess_utils.py) and tokenization_chatglm.py."""


@component("dataset", "MultiTurnDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class MultiTurnDataset(TaskKeys):
    """Rows of up to `max_seq_length` ids of a conversation; the loss counts what the assistant says.

    That includes its calls of tools, written as Python, and the token behind each of its messages, by which it ends.
    """

    packing: PackingMethod = key(PACKING, "none")

    def rows(
        self, loader: Loader, tokenizer: Tokenizer, seq_length: int, settings: RowSettings, progress: Progress
    ) -> SampleRows:
        """Read the conversations and make their rows.

        Args:
            loader: gives conversations.
            tokenizer: that of ChatGLM3, or one with the same special tokens.
            seq_length: tokens that the model reads at once.
            settings: `max_seq_length`, tokens of a conversation; what is longer is cut.
            progress: not called, since reading tells of no bytes.
        Returns:
            The rows, int32 [n, seq_length + 1] a column. `labels` stand beside `input_ids`; one place further to the
            left, as a model without a shift of its own takes them, they are those of MindFormers.
        Raises:
            UserError: `max_seq_length` exceeds `seq_length`, or the tokenizer lacks a token.
        """
        if not isinstance(loader, ConversationLoader):
            raise refuse_loader(self, loader)
        length = seq_length if settings.max_seq_length is None else settings.max_seq_length
        if length > seq_length:
            raise UserError(f"max_seq_length: {length} exceeds seq_length. Allowed: up to {seq_length}.")
        encoded = (encode_turns(conversation, tokenizer) for conversation in loader.conversations())
        samples = Samples.of((ids[:length], labels[:length]) for ids, labels in encoded)
        return sample_rows(samples, seq_length + 1, "cut", self.packing, filling(tokenizer))


def encode_turns(conversation: Conversation, tokenizer: Tokenizer) -> IdsAndLabels:
    """Ids and labels of one conversation.

    Args:
        conversation: what was said; descriptions of tools become a first system message.
        tokenizer: knows the special tokens of ChatGLM3.
    Raises:
        UserError: the tokenizer lacks a token.
    """
    ids = [command_id(tokenizer, token) for token in _PREFIX]
    labels = [IGNORED] * len(ids)
    counted = False
    messages = conversation.messages
    if conversation.tools:
        messages = (say(SYSTEM, _TOOLS + json.dumps(conversation.tools, ensure_ascii=False)), *messages)
    for message in messages:
        for metadata, content in _contents(message):
            turn = [command_id(tokenizer, _SPEAKERS[message["role"]])]
            turn += tokenizer.encode(f"{metadata}\n", add_special_tokens=False, parse_special_tokens=False)
            turn += tokenizer.encode(content, add_special_tokens=False, parse_special_tokens=False)
            # The token that begins a message ends the one before.
            counts_now = message["role"] == ASSISTANT and bool(message.get("loss", True))
            ids += turn
            labels += [turn[0] if counted else IGNORED, *(turn[1:] if counts_now else [IGNORED] * (len(turn) - 1))]
            counted = counts_now
    end = end_token(tokenizer)
    return [*ids, end], [*labels, end if counted else IGNORED]


def command_id(tokenizer: Tokenizer, token: str) -> int:
    """Id of a special token by its text.

    Raises:
        UserError: the tokenizer has no such token.
    """
    ids = tokenizer.encode(token, add_special_tokens=False, parse_special_tokens=True)
    if len(ids) != 1 or ids[0] not in tokenizer.special_ids:
        raise UserError(f"the tokenizer has no token {token}. Allowed: the tokenizer of ChatGLM3 or one like it.")
    return ids[0]


def _contents(message: Message) -> list[tuple[str, str]]:
    """What stands behind a message's first token: metadata and text, once for each call of a tool and for its words."""
    calls = [
        (each["function"]["name"], f"```python\n{_written_call(each['function']['arguments'])}\n```")
        for each in message.get("tool_calls", ())
    ]
    words = [("", message["content"])] if message["content"] or not calls else []
    return words + calls


def _written_call(arguments: Mapping[str, Any]) -> str:
    """A call of the one function that ChatGLM3 knows: `tool_call(city='Bonn')`."""
    keywords = [ast.keyword(arg=name, value=ast.Constant(value)) for name, value in arguments.items()]
    return ast.unparse(ast.Call(func=ast.Name(id="tool_call"), args=[], keywords=keywords))

import json
import re

import numpy as np
import pytest

from mf_config.problems import UserError
from mf_data.datasets.multi_turn import MultiTurnDataset, encode_turns
from mf_data.loaders.tool_alpaca import ToolAlpacaDataLoader
from mf_data.opening import open_dataset
from mf_data.rows.settings import RowSettings
from mf_data.texts.conversations import Conversation, call, exchange, say

COMMANDS = ["</s>", "[gMASK]", "sop", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"]
END, PAD = 0, 7
FIRST_LETTER = 10


class Letters:
    """A tokenizer with the special tokens of ChatGLM3 and an id for each character."""

    eos_id, pad_id, bos_id, vocab_size = END, PAD, None, 1 << 20
    special_ids = frozenset(range(len(COMMANDS)))

    def encode(self, text, add_special_tokens=True, parse_special_tokens=None):
        parts = re.split("(" + "|".join(map(re.escape, COMMANDS)) + ")", text) if parse_special_tokens else [text]
        return [i for part in parts for i in self._ids(part, parse_special_tokens)]

    def _ids(self, part, parses):
        if parses and part in COMMANDS:
            return [COMMANDS.index(part)]
        return [FIRST_LETTER + ord(character) for character in part]

    def text(self, ids) -> str:
        return "".join(COMMANDS[i] if i < len(COMMANDS) else chr(i - FIRST_LETTER) for i in ids if i not in (-100, PAD))


TOOLS = ({"name": "weather"},)
MESSAGES = (
    say("user", "rain?"),
    say("assistant", "", tool_calls=[call("weather", {"city": "Bonn", "days": 2})]),
    say("tool", "yes"),
    say("assistant", "It rains."),
    say("user", "thanks"),
    say("assistant", "bye", loss=False),
)


def test_a_conversation_is_written_as_chatglm3_reads_it():
    ids, _ = encode_turns(Conversation(MESSAGES, TOOLS), Letters())
    assert Letters().text(ids) == (
        "[gMASK]sop<|system|>\nAnswer the following questions as best as you can. "
        "You have access to the following tools:\n"
        '[{"name": "weather"}]<|user|>\nrain?'
        "<|assistant|>weather\n```python\ntool_call(city='Bonn', days=2)\n```<|observation|>\nyes"
        "<|assistant|>\nIt rains.<|user|>\nthanks<|assistant|>\nbye</s>"
    )


def test_labels_are_those_behind_a_token_of_an_answer():
    ids, labels = encode_turns(Conversation(MESSAGES, TOOLS), Letters())
    assert Letters().text(labels) == (
        "weather\n```python\ntool_call(city='Bonn', days=2)\n```<|observation|>\nIt rains.<|user|>"
    )
    # MindFormers keeps the label of a token where the token before it belongs to a message that counts.
    counts = [label != -100 for label in labels]
    assert all(label in (-100, token) for token, label in zip(ids, labels, strict=True))
    starts = [place for place, token in enumerate(ids) if token == COMMANDS.index("<|assistant|>")]
    assert [counts[start] for start in starts] == [False, False, False]
    assert [counts[start + 1] for start in starts] == [True, True, False]


def test_the_last_answer_ends_with_the_end_token():
    ids, labels = encode_turns(exchange("a", "b"), Letters())
    assert Letters().text(labels) == "\nb</s>"
    assert ids[-1] == labels[-1] == END


def test_rows_are_cut_and_padded(tmp_path):
    records = [{"conversations": [say("user", "a"), say("assistant", "b" * n)]} for n in (2, 30)]
    (tmp_path / "a.json").write_text(json.dumps(records))
    loader = ToolAlpacaDataLoader(dataset_dir=str(tmp_path / "a.json"))
    rows = open_dataset(loader, MultiTurnDataset(), Letters(), 20, settings=RowSettings(max_seq_length=16))
    columns = rows[np.arange(2)]
    assert columns["input_ids"].shape == (2, 21)
    assert [Letters().text(row) for row in columns["input_ids"].tolist()] == [
        "[gMASK]sop<|user|>\na<|assistant|>\nbb</s>",
        "[gMASK]sop<|user|>\na<|assistant|>\n" + "b" * 9,
    ]
    # What MindFormers gives to its model: ids and labels[1:], padded to max_seq_length.
    assert columns["labels"][0, 1:].tolist() == [-100] * 5 + [20, 108, 108, END] + [-100] * 11
    with pytest.raises(UserError, match=r"max_seq_length: 30 exceeds seq_length. Allowed: up to 20"):
        open_dataset(loader, MultiTurnDataset(), Letters(), 20, settings=RowSettings(max_seq_length=30))


def test_conversations_share_a_row_where_that_is_asked_for(tmp_path):
    records = [{"conversations": [say("user", "a"), say("assistant", "b" * n)]} for n in (2, 3)]
    (tmp_path / "a.json").write_text(json.dumps(records))
    loader = ToolAlpacaDataLoader(dataset_dir=str(tmp_path / "a.json"))
    rows = open_dataset(loader, MultiTurnDataset(packing="first_fit"), Letters(), 24)
    columns = rows[np.arange(1)]
    assert len(rows) == 1
    assert Letters().text(columns["input_ids"][0].tolist()) == (
        "[gMASK]sop<|user|>\na<|assistant|>\nbb</s>[gMASK]sop<|user|>\na<|assistant|>\nbbb</s>"
    )
    assert columns["position_ids"][0].tolist() == [*range(10), *range(11), *range(4)]


def test_a_tokenizer_without_the_tokens_is_refused(bpe_chat):
    with pytest.raises(UserError, match=r"the tokenizer has no token \[gMASK\]"):
        encode_turns(exchange("a", "b"), bpe_chat)

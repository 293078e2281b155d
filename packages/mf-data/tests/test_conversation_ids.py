import json

import pytest

from mf_config.problems import UserError
from mf_data.chat.conversation_ids import encode_conversation, encode_plainly, encode_with_template, template_of
from mf_data.chat.template import ChatTemplate
from mf_data.handlers.messages import MessagesDataHandler
from mf_data.texts.conversations import Conversation, exchange, say
from mf_data.tokenizers.loading import load_tokenizer


@pytest.fixture
def template(bpe_chat) -> ChatTemplate:
    return template_of(bpe_chat)


@pytest.fixture
def case(data) -> tuple[Conversation, dict]:
    record = json.loads((data / "conversation.jsonl").read_text())
    return MessagesDataHandler().conversation(record), json.loads((data / "conversation.expected.json").read_text())


@pytest.mark.golden
def test_every_answer_counts_with_the_token_that_ends_it(bpe_chat, template, case):
    conversation, expected = case
    assert encode_with_template(conversation, bpe_chat, template) == (expected["input_ids"], expected["labels"])


@pytest.mark.golden
def test_the_last_answer_counts_alone_where_that_is_asked_for(bpe_chat, template, case):
    conversation, expected = case
    ids, labels = encode_conversation(conversation, bpe_chat, template, last_turn_only=True)
    assert ids == expected["input_ids"]
    assert labels == expected["last_turn_only_labels"]


def test_a_message_without_loss_does_not_count(bpe_chat, template):
    messages = (say("user", "hello"), say("assistant", "fine", loss=False), say("assistant", "good"))
    _, labels = encode_with_template(Conversation(messages), bpe_chat, template)
    assert bpe_chat.decode([i for i in labels if i != -100], skip_special_tokens=False) == "good<|end|>"


def test_plain_conversations_end_each_answer(bpe_chat):
    messages = (say("system", "Be brief."), say("user", "hello"), say("assistant", "fine"), say("user", "a<|end|>b"))
    conversation = Conversation((*messages, say("assistant", "good")))
    ids, labels = encode_plainly(conversation, bpe_chat)
    assert ids[0] == bpe_chat.bos_id
    assert ids.count(bpe_chat.bos_id) == 1
    text = "Be brief. USER: hello ASSISTANT: fine<|end|>USER: a<|end|>b ASSISTANT: good<|end|>"
    assert bpe_chat.decode(ids, skip_special_tokens=False) == "<|bos|>" + text
    assert [i for i in ids if i == bpe_chat.eos_id] == [4, 4]
    assert bpe_chat.decode([i for i in labels if i != -100], skip_special_tokens=False) == " fine<|end|> good<|end|>"
    assert all(label in (-100, token_id) for token_id, label in zip(ids, labels, strict=True))
    _, last = encode_conversation(conversation, bpe_chat, None, last_turn_only=True)
    assert bpe_chat.decode([i for i in last if i != -100], skip_special_tokens=False) == " good<|end|>"


def test_plain_conversations_need_an_end_token_and_no_tools(bpe_chat, data, tmp_path):
    tools = Conversation(exchange("a", "b").messages, ({"name": "f"},))
    with pytest.raises(UserError, match="needs a chat template"):
        encode_plainly(tools, bpe_chat)
    (tmp_path / "tokenizer.json").write_bytes((data / "bpe_chat" / "tokenizer.json").read_bytes())
    bare = load_tokenizer(tmp_path)
    assert template_of(bare) is None
    with pytest.raises(UserError, match="no end token"):
        encode_plainly(exchange("a", "b"), bare)

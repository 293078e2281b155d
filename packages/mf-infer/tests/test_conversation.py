import json

import pytest

from mf_config.problems import UserError
from mf_infer.conversation import Conversation


def test_what_is_saved_is_loaded(tmp_path):
    file = tmp_path / "new" / "chat.json"
    first = Conversation("Be brief.")
    first.ask("你好")
    first.answer("hello")
    first.save(file)
    second = Conversation()
    second.load(file)
    assert second.messages == first.messages == json.loads(file.read_text())["messages"]
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant"]


def test_the_system_may_say_something_else_or_nothing():
    conversation = Conversation("a")
    conversation.ask("x")
    conversation.set_system("b")
    assert conversation.messages[0] == {"role": "system", "content": "b"}
    conversation.reset()
    assert conversation.messages == [{"role": "system", "content": "b"}]
    conversation.set_system("")
    assert conversation.messages == []


@pytest.mark.parametrize("content", ["[1]", "{", '{"messages": [{"role": "wizard", "content": "x"}]}', "{}"])
def test_a_file_that_holds_no_conversation_changes_nothing(tmp_path, content):
    file = tmp_path / "chat.json"
    file.write_text(content)
    conversation = Conversation("a")
    with pytest.raises(UserError, match=r"chat\.json: "):
        conversation.load(file)
    assert conversation.messages == [{"role": "system", "content": "a"}]

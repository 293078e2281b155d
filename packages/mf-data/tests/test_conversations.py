import pytest

from mf_data.handlers.adgen import AdgenInstructDataHandler
from mf_data.handlers.alpaca import AlpacaInstructDataHandler
from mf_data.handlers.belle import BelleInstructDataHandler
from mf_data.handlers.code_alpaca import CodeAlpacaInstructDataHandler
from mf_data.handlers.messages import MessagesDataHandler
from mf_data.handlers.preference import PreferenceDataHandler
from mf_data.handlers.share_gpt import ShareGPTDataHandler
from mf_data.handlers.tool_alpaca import ToolAlpacaDataHandler
from mf_data.texts.conversations import Conversation, checked_conversation, exchange, list_in
from mf_data.texts.records import RecordError

CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Bonn"}}}


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in conversation.messages]


@pytest.mark.parametrize(
    ("handler", "record", "prompt"),
    [
        (AlpacaInstructDataHandler(), {"instruction": "Add.", "input": "1, 2", "output": "ok"}, "Add.\n1, 2"),
        (AlpacaInstructDataHandler(), {"instruction": "Add.", "input": "", "output": "ok"}, "Add."),
        (AlpacaInstructDataHandler(prompt_key="p"), {"p": "whole", "instruction": "no", "output": "ok"}, "whole"),
        (CodeAlpacaInstructDataHandler(), {"instruction": "Sort.", "input": "unused", "output": "ok"}, "Sort."),
        (AdgenInstructDataHandler(), {"content": "类型#裙", "summary": "ok"}, "类型#裙"),
        (BelleInstructDataHandler(), {"instruction": "问", "input": "", "output": "ok"}, "问"),
    ],
)
def test_instructions_become_a_question_and_its_answer(handler, record, prompt):
    assert handler.conversation(record) == exchange(prompt, "ok")


def test_a_system_text_comes_first():
    record = {"system": "Be brief.", "instruction": "Add.", "output": "3"}
    found = AlpacaInstructDataHandler().conversation(record)
    assert said(found) == [("system", "Be brief."), ("user", "Add."), ("assistant", "3")]


def test_turns_of_share_gpt_and_belle():
    turns = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}, {"from": "human", "value": "Bye"}]
    expected = [("user", "Hi"), ("assistant", "Hello"), ("user", "Bye")]
    assert said(ShareGPTDataHandler().conversation({"conversations": turns})) == expected
    named = [{**turn, "from": turn["from"].replace("gpt", "assistant")} for turn in turns]
    assert said(BelleInstructDataHandler().conversation({"conversations": named})) == expected
    other = {"turns": [{"who": "Q", "what": "1?"}, {"who": "A", "what": "2"}], "system": "S"}
    handler = ShareGPTDataHandler(
        conversations_key="turns", role_key="who", text_key="what", user_role="Q", assistant_role="A"
    )
    assert said(handler.conversation(other)) == [("system", "S"), ("user", "1?"), ("assistant", "2")]


def test_messages_with_tools():
    record = {
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "7", **CALL}]},
            {"role": "tool", "content": "rain", "tool_call_id": "7"},
            {"role": "assistant", "content": "It rains."},
        ],
        "tools": [{"name": "weather"}],
    }
    found = MessagesDataHandler().conversation(record)
    assert said(found) == [("user", "Weather?"), ("assistant", ""), ("tool", "rain"), ("assistant", "It rains.")]
    assert found.messages[1]["tool_calls"] == [{"id": "7", **CALL}]
    assert found.messages[2]["tool_call_id"] == "7"
    assert found.tools == ({"name": "weather"},)


def test_arguments_of_a_call_may_be_json_text():
    text = {"function": {"name": "weather", "arguments": '{"city": "Bonn"}'}}
    found = checked_conversation([{"role": "assistant", "tool_calls": [text]}], "m")
    assert found.messages[0]["tool_calls"] == [CALL]


def test_a_tool_of_tool_alpaca_is_a_call_and_its_result():
    turns = [
        {"role": "user", "content": "Weather?"},
        {
            "role": "tool",
            "name": "weather",
            "parameters": {"city": "Bonn"},
            "observation": {"sky": "雨"},
            "loss": False,
        },
        {"role": "assistant", "content": "It rains."},
    ]
    found = ToolAlpacaDataHandler().conversation({"tools": [{"name": "weather"}], "conversations": turns})
    assert said(found)[1:3] == [("assistant", ""), ("tool", '{"sky": "雨"}')]
    assert found.messages[1] == {"role": "assistant", "content": "", "tool_calls": [CALL], "loss": False}


def test_preferences_are_two_conversations():
    handler = PreferenceDataHandler()
    texts = handler.preference({"prompt": "1+1?", "chosen": "2", "rejected": "3"})
    assert (texts.chosen, texts.rejected) == (exchange("1+1?", "2"), exchange("1+1?", "3"))
    whole = {
        side: [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": answer}]
        for side, answer in (("chosen", "2"), ("rejected", "3"))
    }
    assert handler.preference(whole) == texts
    assert handler.conversation(whole) == texts.chosen


@pytest.mark.parametrize(
    ("handler", "record", "message"),
    [
        (AlpacaInstructDataHandler(), {"instruction": "Add."}, "output: is missing"),
        (AlpacaInstructDataHandler(), {"instruction": "A", "input": 3, "output": "x"}, "input: 3 is not text"),
        (AdgenInstructDataHandler(), {"contents": "x", "summary": "y"}, "content: is missing"),
        (ShareGPTDataHandler(), {"conversations": "x"}, 'conversations: "x" is no list'),
        (ShareGPTDataHandler(), {"conversations": []}, r"conversations: \[\] is no list"),
        (
            ShareGPTDataHandler(),
            {"conversations": [{"from": "humna"}]},
            r"conversations\[0\].from: 'humna' is not a role",
        ),
        (ShareGPTDataHandler(), {"conversations": [{"from": "gpt"}]}, r"conversations\[0\].content: null is not text"),
        (MessagesDataHandler(), {"messages": ["x"]}, r'messages\[0\]: "x" is no message'),
        (
            MessagesDataHandler(),
            {"messages": [{"role": "human", "content": "x"}]},
            r'\[0\].role: "human" is not a role',
        ),
        (MessagesDataHandler(), {"messages": [{"role": "user", "content": "x"}]}, "no message of an assistant"),
        (MessagesDataHandler(), {"messages": [{"role": "assistant", "content": " "}]}, r"\[0\].content: is empty"),
        (
            MessagesDataHandler(),
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}]},
            "arguments are not JSON",
        ),
        (
            MessagesDataHandler(),
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "3"}}]}]},
            "arguments 3 are no object",
        ),
        (MessagesDataHandler(), {"messages": [{"role": "assistant", "tool_calls": ["f"]}]}, "is no call of a tool"),
        (ToolAlpacaDataHandler(), {"conversations": [{"role": "tool"}]}, "has no name and parameters"),
        (PreferenceDataHandler(), {"prompt": "p", "chosen": "x", "rejected": "x"}, "is the same as chosen"),
        (PreferenceDataHandler(), {"prompt": "p", "chosen": "x"}, "rejected: is missing"),
    ],
)
def test_records_that_are_no_conversations_say_why(handler, record, message):
    convert = getattr(handler, "preference", handler.conversation)
    with pytest.raises(RecordError, match=message):
        convert(record)


def test_the_nearest_role_is_suggested():
    with pytest.raises(RecordError) as caught:
        checked_conversation([{"role": "asistant", "content": "x"}], "messages")
    assert caught.value.suggestion == "assistant"
    with pytest.raises(RecordError) as caught:
        list_in({"mesages": []}, "messages")
    assert caught.value.suggestion == "mesages"

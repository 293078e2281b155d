import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mf_infer.server.bodies import ChatBody, CompletionBody, DetokenizeBody, TokenizeBody, read_body
from mf_infer.server.errors import ApiError

SAYS = [{"role": "user", "content": "x"}]
KEYS = [
    "messages",
    "prompt",
    "model",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "logprobs",
    "top_logprobs",
    "max_tokens",
    "n",
    "best_of",
    "seed",
    "stop",
    "temperature",
    "top_p",
    "logit_bias",
    "echo",
    "suffix",
    "response_format",
    "tokens",
    "max_completion_tokens",
    "min_tokens",
    "bad_words",
]
NAMES = ["role", "content", "type", "text", "1", "tool_calls", "function", "name", "arguments"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40) | st.floats() | st.text(max_size=4) | st.sampled_from(["user"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)


def mistakes(kind, content):
    with pytest.raises(ApiError) as caught:
        read_body(kind, content)
    assert caught.value.status == 400
    return caught.value.message.splitlines()


def test_a_chat_with_all_its_keys():
    content = {
        "model": "m",
        "messages": SAYS,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 3,
        "temperature": 0.5,
        "logit_bias": {"17": -100},
        "stop": "x",
        "logprobs": True,
        "top_logprobs": 2,
        "user": "u",
    }
    body = read_body(ChatBody, content)
    assert body.settings == {"temperature": 0.5, "logit_bias": {17: -100}, "stop": "x"}
    assert (body.include_usage, body.logprobs, body.top_logprobs, body.max_completion_tokens) == (True, True, 2, 3)


def test_null_stands_for_a_key_that_is_not_given():
    content = {"messages": SAYS, "temperature": None, "stream": None, "tools": None, "stop": None, "suffix": None}
    assert read_body(ChatBody, content) == ChatBody(messages=SAYS)
    assert mistakes(ChatBody, {"messages": None}) == ["messages: is missing."]


def test_messages_of_an_assistant_that_calls_tools_may_lack_content():
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}
    assert read_body(ChatBody, {"messages": [call]}).messages == [call]
    assert mistakes(ChatBody, {"messages": [{"role": "user", "content": None, "tool_calls": []}]}) == [
        "messages[0].tool_calls: [] can't be used. Allowed: a list, in messages of the assistant.",
        "messages[0].content: None can't be used. Allowed: text, or a list of parts with text.",
    ]


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (ChatBody, [1, 2], "body: list can't be used. Allowed: a JSON object."),
        (ChatBody, {"messages": "hi"}, "messages: 'hi' can't be used. Allowed: a list of messages, at least one."),
        (
            ChatBody,
            {"messages": SAYS, "top_logprobs": 2},
            "top_logprobs: can't be used. Allowed: only with logprobs: true.",
        ),
        (
            ChatBody,
            {"messages": SAYS, "stream_options": {}},
            "stream_options: can't be used. Allowed: only with stream: true.",
        ),
        (
            CompletionBody,
            {"prompt": []},
            "prompt: [] can't be used. Allowed: text, a list of token ids, or a list of either, none of them empty.",
        ),
        (
            CompletionBody,
            {"prompt": "x", "echo": True, "stream": True},
            "echo: can't be used. Allowed: only without stream.",
        ),
        (
            CompletionBody,
            {"prompt": "x", "logprobs": True},
            "logprobs: True can't be used. Allowed: an integer from 0 to 20.",
        ),
        (
            CompletionBody,
            {"prompt": "x", "logit_bias": {"a": 1}},
            "logit_bias: {'a': 1} can't be used. Allowed: token ids from 0 with a number from -10000 to 10000 each.",
        ),
        (CompletionBody, {"prompt": "x", "stop": ["a"] * 17}, "stop: it has 17 entries. Allowed: up to 16."),
        (TokenizeBody, {}, "prompt: is missing, or given twice. Allowed: one of prompt, messages."),
        (DetokenizeBody, {"tokens": [1.5]}, "tokens: [1.5] can't be used. Allowed: a list of integers."),
    ],
)
def test_what_is_wrong_is_said(kind, content, message):
    assert mistakes(kind, content) == [message]


def test_a_minimum_of_tokens_is_not_held_against_a_default_maximum():
    assert read_body(CompletionBody, {"prompt": "x", "min_tokens": 50}).settings == {"min_tokens": 50}


def test_a_long_value_is_quoted_in_part():
    (message,) = mistakes(CompletionBody, {"prompt": "x", "temperature": "9" * 10_000})
    assert len(message) < 300
    assert message.endswith("can't be used. Allowed: from 0.")


@pytest.mark.property
@pytest.mark.parametrize("kind", [ChatBody, CompletionBody, TokenizeBody, DetokenizeBody])
@settings(deadline=None)
@given(content=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6))
def test_any_object_is_read_or_refused(kind, content):
    try:
        body = read_body(kind, content)
    except ApiError as error:
        assert error.status == 400
        assert error.param
    else:
        given_keys = {name for name, value in content.items() if value is not None}
        assert not list(body.mistakes())
        assert all(getattr(body, name) == content[name] for name in given_keys if name in kind.__annotations__)

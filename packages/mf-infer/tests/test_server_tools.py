"""Tools over HTTP: what the template is given, and calls in answers, for the client that people use."""

import json
from contextlib import contextmanager
from pathlib import Path

import httpx
import openai
import pytest

from mf_data.chat.template import ChatTemplate
from mf_data.tokenizers.loading import load_tokenizer

CHAT = Path(__file__).parent / "data" / "tiny_chat"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
ASKED = [{"role": "user", "content": "Paris or Rome?"}]
CALLS = (
    'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
)
TEMPLATE = (
    "{% if tools %}<tool_call> {{ tools[0].function.name }}{% endif %}"
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}"
    "{% for call in m.tool_calls or [] %}{{ call.function.name }}({{ call.function.arguments.city }}){% endfor %}"
    "{% endfor %}"
)


@pytest.fixture
def model(new_model):
    """Makes models that write a text, whatever they are asked."""

    def make(text, template=TEMPLATE, tokenizer=None):
        tokenizer = tokenizer or load_tokenizer(CHAT)
        ids = tokenizer.encode(text, add_special_tokens=False, parse_special_tokens=True)
        made = new_model(script=[*ids, 4], tokenizer=tokenizer)
        made.__dict__["chat_template"] = ChatTemplate(template)
        return made

    return make


@contextmanager
def client_of(served):
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def ask(client, **more):
    body = {"messages": ASKED, "tools": [WEATHER], "max_tokens": 150, "temperature": 0, **more}
    return client.chat.completions.create(model="tiny_chat", **body)


def shown(calls):
    return [(call.type, call.function.name, json.loads(call.function.arguments)) for call in calls]


BOTH = [("function", "weather", {"city": "Paris"}), ("function", "weather", {"city": "Rome"})]


def test_calls_come_beside_the_text(model, serve):
    with serve(model(CALLS)) as served, client_of(served) as client:
        choice = ask(client).choices[0]
    assert (choice.message.content, choice.finish_reason) == ("I look.", "tool_calls")
    assert shown(choice.message.tool_calls) == BOTH
    ids = [call.id for call in choice.message.tool_calls]
    assert len(set(ids)) == 2
    assert all(len(name) == 9 and name.isalnum() for name in ids)


def test_calls_come_in_the_deltas_of_a_stream(model, serve):
    with serve(model(CALLS)) as served, client_of(served) as client:
        with ask(client, stream=True) as stream:
            choices = [chunk.choices[0] for chunk in stream]
        with client.chat.completions.stream(
            model="tiny_chat", messages=ASKED, tools=[WEATHER], max_tokens=150, temperature=0
        ) as stream:
            gathered = stream.get_final_completion().choices[0]
    assert "".join(choice.delta.content or "" for choice in choices) == "I look."
    calls = [call for choice in choices for call in choice.delta.tool_calls or ()]
    assert [call.index for call in calls] == [0, 1]
    assert shown(calls) == BOTH
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["tool_calls"]
    assert (gathered.message.content, gathered.finish_reason) == ("I look.", "tool_calls")
    assert shown(gathered.message.tool_calls) == BOTH


def test_a_call_without_text_has_no_content(model, serve):
    with serve(model(CALLS.removeprefix("I look."))) as served, client_of(served) as client:
        assert ask(client).choices[0].message.content is None


@pytest.mark.parametrize(
    "more", [{"tools": openai.NOT_GIVEN}, {"tool_choice": "none"}, {"tools": []}], ids=["no tools", "none", "empty"]
)
def test_where_no_tool_may_be_called_the_text_stays_as_it_is(model, serve, more):
    with serve(model(CALLS)) as served, client_of(served) as client:
        choice = ask(client, **more).choices[0]
    assert (choice.message.content, choice.message.tool_calls, choice.finish_reason) == (CALLS, None, "stop")


def test_a_call_that_max_tokens_cuts_off_is_none(model, serve):
    with serve(model(CALLS)) as served, client_of(served) as client:
        tokens = len(load_tokenizer(CHAT).encode(CALLS, add_special_tokens=False))
        choice = ask(client, max_tokens=tokens - 8).choices[0]
    assert choice.finish_reason == "length"
    assert shown(choice.message.tool_calls) == BOTH[:1]
    assert choice.message.content.startswith("I look.<tool_call>")


def test_calls_between_special_tokens_are_found_and_others_stay_hidden(model, serve, tmp_path):
    text = (CHAT / "tokenizer.json").read_text().replace("<|eot|>", "[TOOL_CALLS]")
    (tmp_path / "tokenizer.json").write_text(text)
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.encode("[TOOL_CALLS]", add_special_tokens=False) == [2]
    assert 2 in tokenizer.special_ids
    template = "{% if tools %}[TOOL_CALLS]{% endif %}{{ messages[0].content }}"
    written = '<|start|>[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Paris"}}]'
    with serve(model(written, template, tokenizer)) as served, client_of(served) as client:
        choice = ask(client).choices[0]
        assert (choice.message.content, shown(choice.message.tool_calls)) == (None, BOTH[:1])
        plain = ask(client, tools=openai.NOT_GIVEN).choices[0].message
        assert (plain.content, plain.tool_calls) == (written.removeprefix("<|start|>[TOOL_CALLS]"), None)


def test_the_form_may_be_named(model, serve):
    written = '{"name": "weather", "parameters": {"city": "Paris"}}'
    with serve(model(written), tool_format="llama3") as served, client_of(served) as client:
        assert shown(ask(client).choices[0].message.tool_calls) == BOTH[:1]


def test_a_conversation_goes_on_with_the_results(model, serve):
    with serve(model("Paris.")) as served, httpx.Client(base_url=served.url) as http:
        call = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
        messages = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "sun"},
        ]
        tokens = http.post("/tokenize", json={"messages": messages}).json()["tokens"]
        text = http.post("/detokenize", json={"tokens": tokens}).json()["prompt"]
    assert text == "[user] q[assistant] weather(Paris)[tool] sun"


def test_tools_are_written_by_the_template_unless_none_may_be_chosen(model, serve):
    with serve(model("x")) as served, httpx.Client(base_url=served.url) as http:

        def tokens(path, **more):
            found = http.post(path, json={"messages": ASKED, "max_tokens": 1, **more}).json()
            return found["count"] if path == "/tokenize" else found["usage"]["prompt_tokens"]

        with_tools = tokens("/tokenize", tools=[WEATHER])
        assert tokens("/v1/chat/completions", tools=[WEATHER]) == with_tools > tokens("/tokenize")
        assert tokens("/v1/chat/completions", tools=[WEATHER], tool_choice="none") == tokens("/tokenize")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"tool_choice": "required"},
            "tool_choice: 'required' can't be used. Allowed: none, auto; no call can be forced.",
        ),
        (
            {"parallel_tool_calls": False},
            "parallel_tool_calls: False can't be used. Allowed: True; nothing else is served.",
        ),
        (
            {"tools": [{"name": "weather"}]},
            "tools[0]: {'name': 'weather'} can't be used. Allowed: objects of the form "
            '{"type": "function", "function": {"name": "…"}}.',
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "w", "arguments": "[1]"}}]}]},
            "messages[0].tool_calls[0].function.arguments: '[1]' can't be used. Allowed: a JSON object, as text.",
        ),
    ],
)
def test_what_can_not_be_served_is_refused(model, serve, more, message):
    with serve(model("x")) as served, client_of(served) as client, pytest.raises(openai.BadRequestError) as caught:
        ask(client, **more)
    assert caught.value.body["message"] == message
    assert caught.value.body["param"] == message.partition(":")[0]


def test_a_named_tool_can_not_be_forced(model, serve):
    named = {"type": "function", "function": {"name": "weather"}}
    with (
        serve(model("x")) as served,
        client_of(served) as client,
        pytest.raises(openai.BadRequestError, match="no call can be forced"),
    ):
        ask(client, tool_choice=named)


def test_tools_are_refused_where_the_template_would_drop_them(model, serve):
    template = "{{ messages[0].content }}"
    with (
        serve(model("x", template)) as served,
        client_of(served) as client,
        pytest.raises(openai.BadRequestError) as caught,
    ):
        ask(client)
    message = "tools: the model's chat template has no place for them. Allowed: no tools."
    assert caught.value.body["message"] == message

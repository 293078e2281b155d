"""Texts as models of each kind write them, and the calls that they mean."""

import json

import pytest

from mf_infer.tools.call_reader import CallReader, known_formats, taught_format
from mf_infer.tools.tool_calls import ToolCall

PARIS = ToolCall("weather", '{"city": "Paris", "days": 2}')
ROME = ToolCall("weather", '{"city": "Rom\u00e9"}')
CLOCK = ToolCall("clock", "{}")

WRITTEN = [
    # form, text, what is said, calls
    (
        "hermes",
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris", "days": 2}}\n</tool_call>',
        "",
        [PARIS],
    ),
    (
        "hermes",
        "I look.\n<tool_call>\n"
        '{"name": "weather", "arguments": {"city": "Paris", "days": 2}}\n</tool_call>\n'
        '<tool_call>{"arguments": {"city": "Rom\\u00e9"}, "name": "weather"}</tool_call>\n',
        "I look.",
        [PARIS, ROME],
    ),
    (
        "hermes",
        '<tool_call>{"name": "clock"}</tool_call> It is late. '
        '<tool_call>{"name": "clock", "arguments": "{}"}</tool_call>',
        "It is late.",
        [CLOCK, CLOCK],
    ),
    (
        "hermes",
        '<tool_call>{"name": "weather", "arguments": {"city": "</tool_call>"}}</tool_call>',
        "",
        [ToolCall("weather", '{"city": "</tool_call>"}')],
    ),
    ("llama3", '{"name": "weather", "parameters": {"city": "Paris", "days": 2}}', "", [PARIS]),
    (
        "llama3",
        '\n{"name": "weather", "parameters": {"city": "Paris", "days": 2}}; {"name": "clock", "parameters": {}}',
        "",
        [PARIS, CLOCK],
    ),
    ("llama3", 'It writes {"name": "clock", "parameters": {}}.', 'It writes {"name": "clock", "parameters": {}}.', []),
    ("llama3", '{"answer": 42} is JSON', '{"answer": 42} is JSON', []),
    (
        "mistral",
        '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Paris", "days": 2}}, {"name": "clock"}]',
        "",
        [PARIS, CLOCK],
    ),
    (
        "mistral",
        'I look. [TOOL_CALLS]weather[ARGS]{"city": "Paris", "days": 2}[TOOL_CALLS]clock[CALL_ID]a1b2c3d4e[ARGS]{}',
        "I look.",
        [PARIS, CLOCK],
    ),
    ("mistral", '[TOOL_CALLS]weather{"city": "Paris", "days": 2}', "", [PARIS]),
    ("mistral", '[TOOL_CALLS]1st[ARGS]{"a": 1}', "", [ToolCall("1st", '{"a": 1}')]),
]

TEMPLATES = {
    # What templates of these models tell the model, in the places that matter.
    "hermes": "return a json object within <tool_call></tool_call> XML tags",
    "llama3": 'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.',
    "mistral": "{{ '[TOOL_CALLS] [' + tool_call.function|tojson }}",
    None: "{% if tools %}<tool_call>\n<function=example>{% endif %}",
}


@pytest.mark.parametrize(("form", "text", "said", "calls"), WRITTEN)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_calls_are_told_from_text(form, text, said, calls, size):
    reader = CallReader(known_formats()[form], {"weather", "clock", "1st"})
    parts = [reader.push(text[start : start + size]) for start in range(0, len(text), size)]
    parts.append(reader.push("", is_last=True))
    assert "".join(part.text for part in parts) == said
    found = [call for part in parts for call in part.calls]
    assert [(call.name, json.loads(call.arguments)) for call in found] == [
        (call.name, json.loads(call.arguments)) for call in calls
    ]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_says_which_form_it_teaches(name):
    found = taught_format(TEMPLATES[name])
    assert (found and found.name) == name


def test_all_forms_are_known_by_name():
    assert {name: form.name for name, form in known_formats().items()} == {
        "hermes": "hermes",
        "llama3": "llama3",
        "mistral": "mistral",
    }

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_infer.tools.call_reader import CallReader, known_formats

HERMES = known_formats()["hermes"]
GOOD = '<tool_call>{"name": "clock", "arguments": {"zone": "UTC"}}</tool_call>'


def read(text, form=HERMES, sizes=()):
    """The text and the names of the calls, told in pieces of so many characters and the rest."""
    reader = CallReader(form, {"clock"})
    said, names = "", []
    for size in sizes:
        part = reader.push(text[:size])
        text = text[size:]
        said, names = said + part.text, names + [call.name for call in part.calls]
    last = reader.push(text, is_last=True)
    return said + last.text, names + [call.name for call in last.calls]


@pytest.mark.parametrize(
    "text",
    [
        "  nothing is called \n",
        "a < b, <tool",
        "<tool_call>{broken}</tool_call>",
        '<tool_call>{"name": "clock", "arguments": [1]}</tool_call>',
        '<tool_call>{"name": "clock", "arguments": {"x": NaN}}</tool_call>',
        '<tool_call>{"name": 1}</tool_call>',
        '<tool_call>{"name": "clock"} and more</tool_call>',
        '<tool_call>{"name": "clo',
        '<tool_call>{"name": "no such tool"}</tool_call>',
        "<tool_call>" + "[" * 5000 + "]" * 5000 + "</tool_call>",
    ],
)
def test_what_is_no_call_of_an_offered_tool_is_text(text):
    assert read(text) == (text, [])


def test_a_call_behind_a_broken_one_is_found():
    assert read(f"<tool_call>{{broken}}</tool_call> {GOOD}") == ("<tool_call>{broken}</tool_call>", ["clock"])


def test_text_is_told_as_soon_as_it_can_not_belong_to_a_call():
    reader = CallReader(HERMES, {"clock"})
    assert reader.push("one").text == "one"
    assert reader.push(" two ").text == " two"
    assert reader.push("<").text == ""
    assert reader.push("b>").text == " <b>"
    assert reader.push(GOOD[:-1]) == ("", [])
    assert [call.arguments for call in reader.push(">").calls] == ['{"zone": "UTC"}']


MARKS = ("<tool_call>", "</tool_call>", "[TOOL_CALLS]", "\n", " ", ";", "{", "}", '"', "null", "word", "[", "]")
CALLS = (GOOD, 'clock[ARGS]{"a": 1}', '[{"name": "clock"}]', '{"name": "clock", "parameters": {}}', '{"name": "x"}')
PIECES = st.sampled_from((*MARKS, *CALLS))


@pytest.mark.property
@given(
    st.sampled_from(sorted(known_formats())),
    st.lists(PIECES, max_size=6).map("".join),
    st.lists(st.integers(0, 9), max_size=30),
)
def test_the_same_is_told_however_the_text_is_cut(form, text, sizes):
    assert read(text, known_formats()[form], sizes) == read(text, known_formats()[form])

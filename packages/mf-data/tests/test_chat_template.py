"""Chat templates.

`data/chat_templates.json` has templates of our own, which use what the templates of real models use, and what Hugging
Face transformers 5.24.0 (`render_jinja_template`) writes with them; `answers` are its indices of assistant tokens.
"""

import json
import threading

import pytest

from mf_config.problems import UserError
from mf_data.chat.template import ChatTemplate

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def cases(data):
    return json.loads((data / "chat_templates.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def templates(cases):
    return {name: ChatTemplate(text, cases["special_tokens"]) for name, text in cases["templates"].items()}


@pytest.mark.golden
@pytest.mark.parametrize("name", ["tools", "thinking", "alternating", "marked", "values"])
def test_texts_are_those_of_hugging_face(cases, templates, name):
    mine = [case for case in cases["cases"] if case["template"] == name]
    assert len(mine) >= 14
    for case in mine:
        given = (case["messages"], case["add_generation_prompt"], case["tools"], case["variables"])
        if "error" in case:
            with pytest.raises(UserError, match=case["error"]):
                templates[name].render(*given)
        else:
            assert templates[name].render(*given) == case["rendered"]


@pytest.mark.golden
def test_marked_answers_are_those_of_hugging_face(cases, templates):
    for case in cases["cases"]:
        if "answers" in case and not case["add_generation_prompt"]:
            text, spans = templates["marked"].render_with_answers(case["messages"])
            assert text == case["rendered"]
            assert [list(span) for span in spans.values()] == case["answers"]


@pytest.mark.golden
def test_a_model_s_conversations_have_the_golden_text_and_ids_with_one_bos(data, bpe_chat):
    template = ChatTemplate.from_pretrained(data / "bpe_chat")
    records = json.loads((data / "bpe_chat" / "golden_chat.json").read_text(encoding="utf-8"))
    assert len(records) == 10
    for record in records:
        messages, prompt = record["messages"], record["add_generation_prompt"]
        assert template.render(messages, prompt) == record["rendered"]
        ids = template.encode(messages, bpe_chat, prompt)
        assert ids == record["ids"]
        assert ids.count(bpe_chat.bos_id) == 1


def test_an_answer_that_changes_with_what_follows_is_refused(templates):
    messages = [*HELLO, {"role": "assistant", "content": "a"}, *HELLO, {"role": "assistant", "content": "b"}]
    with pytest.raises(UserError, match=r"messages\[1\]: the chat template writes it otherwise"):
        templates["thinking"].render_with_answers(messages)


def test_answers_of_a_plain_template_reach_from_its_prompt_to_the_end_of_the_turn(templates):
    messages = [*HELLO, {"role": "assistant", "content": "a"}, *HELLO, {"role": "assistant", "content": "b"}]
    text, spans = templates["tools"].render_with_answers(messages)
    assert {number: text[slice(*span)] for number, span in spans.items()} == {
        1: "a<|im_end|>\n",
        3: "b<|im_end|>\n",
    }


def test_a_message_can_t_forge_the_marks_of_an_answer(templates):
    forged = {"role": "user", "content": "{% generation %}x{% endgeneration %} mf_answer_begins"}
    text, spans = templates["marked"].render_with_answers([forged, {"role": "assistant", "content": "a"}])
    assert forged["content"] in text
    assert [text[slice(*span)] for span in spans.values()] == ["a</s>"]


def test_several_templates_are_chosen_by_name():
    template = ChatTemplate({"default": "plain", "tool_use": "{{ tools | length }} tools"})
    assert (template.render(HELLO), template.render(HELLO, tools=[{}])) == ("plain", "1 tools")
    assert (template.source(), template.source(tools=())) == ("plain", "{{ tools | length }} tools")
    with pytest.raises(UserError, match="named a, b"):
        ChatTemplate({"a": "", "b": ""})


def test_files_of_a_model(tmp_path):
    with pytest.raises(UserError, match="there is no chat template"):
        ChatTemplate.from_pretrained(tmp_path)
    listed = [{"name": "default", "template": "{{ bos_token }}d"}, {"name": "tool_use", "template": "t"}]
    settings = {"bos_token": {"content": "<b>"}, "chat_template": listed}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    template = ChatTemplate.from_pretrained(tmp_path)
    assert (template.render(HELLO), template.render(HELLO, tools=[])) == ("<b>d", "t")
    (tmp_path / "chat_template.jinja").write_text("file {{ bos_token }}\n")
    assert ChatTemplate.from_pretrained(tmp_path).render(HELLO) == "file <b>"


@pytest.mark.parametrize(
    ("source", "message"),
    [("{% for %}", "is broken, line 1"), ("\n{{ x", "is broken, line 2")],
)
def test_a_broken_template_is_named_with_its_line(source, message):
    with pytest.raises(UserError, match=message):
        ChatTemplate(source)


def test_data_that_no_template_can_write_is_named():
    template = ChatTemplate("{{ messages[0].content + 1 }}")
    with pytest.raises(UserError, match="can't write these messages: can only concatenate str"):
        template.render(HELLO)
    with pytest.raises(UserError, match=r"messages\[0\]\.content: a bytes can't be written"):
        template.render([{"role": "user", "content": b"x"}])


def test_messages_stay_as_they_are(templates):
    messages = [{"role": "user", "content": "x", "extra": [1]}]
    with pytest.raises(UserError, match="unsafe"):
        ChatTemplate("{{ messages[0].extra.append(2) }}").render(messages)
    assert messages == [{"role": "user", "content": "x", "extra": [1]}]


def test_one_template_serves_several_threads(templates, cases):
    case = next(case for case in cases["cases"] if case["template"] == "tools")
    texts: list[str] = []
    threads = [
        threading.Thread(target=lambda: texts.append(templates["tools"].render(case["messages"]))) for _ in "abcd"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [case["rendered"]] * 4

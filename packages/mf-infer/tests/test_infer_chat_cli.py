import io
import json
import sys

import pytest

from mf_infer.cli import main
from mf_infer.sampling_params import SamplingParams

GREEDY = ["--temperature", "0", "--max-tokens", "12"]


@pytest.fixture
def talk(new_model, monkeypatch, capsys):
    """Types lines; returns the model, what was answered, and the notes."""

    def run(*lines, options=()):
        model = new_model()
        monkeypatch.setattr("mf_infer.cli.opening.LLM", lambda *_, **__: model)
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        assert main(["chat", "model", *GREEDY, *options]) == 0
        captured = capsys.readouterr()
        return model, captured.out, captured.err

    return run


def answer(model, *contents):
    """What the model says after messages of the user and itself in turn."""
    roles = ("user", "assistant") * len(contents)
    messages = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=False)]
    params = SamplingParams(temperature=0, max_tokens=12)
    return model.generate(model.chat_prompt(messages), params)[0].outputs[0].text


def test_answers_follow_the_whole_conversation(talk):
    model, out, notes = talk("hello", "", "and now", "/exit", "not any more")
    first = answer(model, "hello")
    assert out == f"{first}\n{answer(model, 'hello', first, 'and now')}\n"
    assert notes.count("12 tokens, ") == 2


def test_a_message_of_several_lines(talk):
    model, out, _ = talk('"""/one', "/two", 'three"""')
    assert out == answer(model, "/one\n/two\nthree") + "\n"


def test_commands_change_the_conversation(talk, tmp_path):
    file = tmp_path / "chat.json"
    model, out, notes = talk("hello", f"/save {file}", "/reset", "hello", f"/load {file}", "more", "/help")
    first = answer(model, "hello")
    assert out == f"{first}\n{first}\n{answer(model, 'hello', first, 'more')}\n"
    assert [message["content"] for message in json.loads(file.read_text())["messages"]] == ["hello", first]
    assert "2 messages in" in notes
    assert "user: hello" in notes
    assert "/system TEXT" in notes


def test_the_system_is_heard(talk):
    _, with_option, _ = talk("hello", options=["--system", "Be brief."])
    _, with_command, _ = talk("/system Be brief.", "hello")
    _, without, _ = talk("hello")
    assert with_option == with_command != without


def test_mistakes_are_said_and_the_conversation_goes_on(talk):
    model, out, notes = talk("/sav", "/save", "/load missing.json", "x" * 2000, "hello")
    assert "/sav: no such command. Allowed: /system, /save, /load, /reset, /help, /exit. Did you mean /save?" in notes
    assert "the name of a file is missing." in notes
    assert "missing.json: can't be read" in notes
    assert "but the model's context holds 256" in notes
    # The message that was too long is not part of it.
    assert out == answer(model, "hello") + "\n"


def test_ctrl_c_ends_the_answer_alone(talk, monkeypatch):
    shown = []

    def interrupted(self, text):
        shown.append(text)
        if len(shown) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("mf_infer.cli.chat_session.ChatSession._show", interrupted)
    model, _, notes = talk("hello", "again")
    assert " interrupted" in notes
    assert "3 tokens, " in notes
    assert "12 tokens, " in notes
    assert model.engine.load.used_blocks == 0


def test_several_answers_are_no_conversation(capsys):
    assert main(["chat", "model", "--n", "2"]) == 2
    assert capsys.readouterr().err == "n: 2 can't be used. Allowed: 1 in a conversation.\n"

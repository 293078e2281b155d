import json

from mf_config.command_line import OK, USER_ERROR
from mf_data.cli import main


def test_texts_in_characters_and_in_tokens(tmp_path, data, bpe_chat, capsys):
    texts = ["short", "a longer text with \u4f60\u597d"]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert main(["stats", str(path), "--json"]) == OK
    (found,) = json.loads(capsys.readouterr().out).values()
    sizes = [len(text) for text in texts]
    assert (found["documents"], found["characters"]) == (2, sum(sizes))
    assert found["bytes"] == sum(sizes) + 4
    assert (found["lengths"]["min"], found["lengths"]["max"]) == (sizes[0], sizes[1])
    assert main(["stats", str(path), "--tokenizer", str(data / "bpe_chat"), "--json"]) == OK
    (found,) = json.loads(capsys.readouterr().out).values()
    assert found["tokens"] == sum(len(bpe_chat.encode(text)) for text in texts)
    assert main(["stats", str(path)]) == OK
    printed = capsys.readouterr().out.splitlines()
    assert printed[-3:] == ["      4-7 1 " + "#" * 40, "     8-15 0", "    16-31 1 " + "#" * 40]


def test_what_is_no_data_is_told(tmp_path, capsys):
    assert main(["stats", str(tmp_path / "corpsu")]) == USER_ERROR
    assert f"INPUT: {tmp_path / 'corpsu'} does not exist" in capsys.readouterr().err

import gzip
import json
import lzma

import pytest

from mf_config.problems import ConfigError, UserError
from mf_data.loaders.text import TextDataLoader


def read(path) -> list[tuple[str, str]]:
    return [(document.name, document.text) for document in TextDataLoader(dataset_dir=str(path)).documents()]


def broken_lines(path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(path)
    return [str(problem) for problem in caught.value.problems]


def test_a_text_file_is_one_document(tmp_path):
    file = tmp_path / "story.txt"
    file.write_bytes("\ufeffOnce\r\nupon a time. 你好".encode())
    assert read(file) == [(str(file), "Once\r\nupon a time. 你好")]


def test_each_line_of_a_jsonl_file_is_a_document(tmp_path):
    file = tmp_path / "lines.jsonl"
    long = "x" * 300_000
    rows = [{"text": "one"}, {"text": "two\u2028still two", "more": 1}, {"text": long}]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    file.write_text("\ufeff" + f"{lines[0]}\n\n  \n{lines[1]}\r\n{lines[2]}", encoding="utf-8")
    assert read(file) == [(f"{file}:1", "one"), (f"{file}:4", "two\u2028still two"), (f"{file}:5", long)]


def test_a_folder_is_read_in_order_of_paths_with_its_subfolders(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "z.txt").write_text("last")
    (tmp_path / "a.jsonl").write_text('{"text": "first"}\n')
    (tmp_path / "notes.md").write_text("not read")
    assert [text for _, text in read(tmp_path)] == ["first", "last"]


def test_every_broken_line_is_named_with_its_place(tmp_path):
    file = tmp_path / "dirty.jsonl"
    lines = [
        b'{"text": "good"}',
        b"",
        b'{"text": "caf\xe9"}',
        b'{"text": "cut',
        b'["text"]',
        b'{"texts": "misspelt"}',
        b'{"text": 7}',
        b'{"text": "half \\ud83d"}',
        b"[" * 100_000,
        b'{"text": "fine", "number": ' + b"7" * 10_000 + b"}",
    ]
    file.write_bytes(b"\n".join(lines))
    found = broken_lines(file)
    assert found[:6] == [
        f"{file}:3: byte 0xe9 is not UTF-8 (invalid continuation byte). Allowed: text in UTF-8.",
        f'{file}:4: not JSON (Unterminated string starting, column 10). Allowed: {{"field": "value", …}}.',
        f'{file}:5: a JSON list is not an object. Allowed: {{"field": "value", …}}.',
        f"{file}:6: text: is missing. Allowed: an object with this field. Did you mean texts?",
        f"{file}:7: text: 7 is not text. Allowed: a string.",
        f"{file}:8: text: character 5 is half of a surrogate pair. Allowed: whole characters.",
    ]
    assert found[6].startswith(f"{file}:9: can't be read (maximum recursion depth")
    assert found[7].startswith(f"{file}:10: can't be read (Exceeds the limit")
    assert len(found) == 8


def test_nothing_is_read_on_after_a_broken_line(tmp_path):
    file = tmp_path / "dirty.jsonl"
    file.write_text('{"text": "one"}\nbroken\n{"text": "two"}\n')
    documents = TextDataLoader(dataset_dir=str(file)).documents()
    assert next(documents).text == "one"
    with pytest.raises(ConfigError, match=r"dirty\.jsonl:2: not JSON"):
        next(documents)


def test_a_file_of_another_kind_is_given_up_early(tmp_path):
    file = tmp_path / "prose.jsonl"
    file.write_text("no JSON\n" * 1000)
    assert len(broken_lines(file)) == 20


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path):
    file = tmp_path / "old.txt"
    file.write_bytes(b"fine\nfine\nna\xefve\n")
    assert broken_lines(file) == [
        f"{file}:3: byte 0xef is not UTF-8 (invalid continuation byte). Allowed: text in UTF-8."
    ]


def test_broken_lines_are_skipped_where_that_is_asked_for(tmp_path, caplog):
    file = tmp_path / "dirty.jsonl"
    file.write_text('{"body": "one"}\nbroken\n{"body": "two"}\n{"text": "x"}\n')
    loader = TextDataLoader(dataset_dir=str(file), text_field="body", on_broken="skip")
    assert [document.text for document in loader.documents()] == ["one", "two"]
    assert caplog.messages[0].splitlines() == [
        f"{file}: 2 of 4 records are broken and were skipped:",
        f'{file}:2: not JSON (Expecting value, column 1). Allowed: {{"field": "value", …}}.',
        f"{file}:4: body: is missing. Allowed: an object with this field.",
    ]


def test_compressed_text_is_read(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\ufeffzip 你好".encode()))
    (tmp_path / "b.jsonl.xz").write_bytes(lzma.compress(b'{"text": "xz"}\n'))
    assert [text for _, text in read(tmp_path)] == ["zip 你好", "xz"]


def test_a_missing_path_names_the_nearest(tmp_path):
    (tmp_path / "corpus.txt").write_text("x")
    with pytest.raises(UserError, match=r"corpsu\.txt does not exist\. Allowed: .* Did you mean .*/corpus\.txt\?"):
        read(tmp_path / "corpsu.txt")


def test_a_folder_without_text_is_refused(tmp_path):
    (tmp_path / "table.csv").write_text("a,b")
    with pytest.raises(UserError, match="holds no such file"):
        read(tmp_path)

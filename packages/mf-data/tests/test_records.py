import json
import sys
import types

import pytest

from mf_config.problems import ConfigError, Location, Problem, UserError
from mf_data.texts.records import RecordError, converted, describe_skipped, read_records, sift, text_in

DIRTY = "dirty_rows.jsonl.gz"


def pair(record) -> tuple[str, str]:
    return text_in(record, "instruction"), text_in(record, "output")


def good(path, file_format=None) -> list[dict]:
    return [dict(value) for _, value in sift(read_records(path, file_format), "stop")]


def problems_of(path, convert=dict) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        list(sift(converted(read_records(path), convert), "stop"))
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.golden
def test_every_dirty_line_is_named_in_one_report(data):
    expected = json.loads((data / "dirty_rows.expected.json").read_text())
    found = problems_of(data / DIRTY, pair)
    assert [problem.removeprefix(f"{data / DIRTY}:") for problem in found] == [
        "5: byte 0xe6 is not UTF-8 (invalid continuation byte). Allowed: text in UTF-8.",
        '6: not JSON (Unterminated string starting, column 28). Allowed: {"field": "value", …}.',
        '7: a JSON list is not an object. Allowed: {"field": "value", …}.',
        "8: output: is missing. Allowed: an object with this field.",
        "9: output: null is not text. Allowed: a string.",
        "10: output: is empty. Allowed: text to learn from.",
        "12: output: 42 is not text. Allowed: a string.",
        "14: instruction: character 15 is half of a surrogate pair. Allowed: whole characters.",
    ]
    assert [problem.split(":")[1] for problem in found] == list(expected["bad_lines"])


@pytest.mark.golden
def test_good_lines_are_kept_where_bad_ones_are_skipped(data, caplog):
    expected = json.loads((data / "dirty_rows.expected.json").read_text())
    found = dict(sift(converted(read_records(data / DIRTY), pair), "skip"))
    outputs = {location.line: output for location, (_, output) in found.items()}
    assert list(outputs) == expected["good_lines"]
    for line in (3, 11, 17):
        assert outputs[line] == expected[f"line_{line}_output"]
    assert len(outputs[16]) > 299_000
    assert f"{DIRTY}: 8 of 15 records are broken and were skipped:\n" in caplog.text


def test_a_json_file_holds_a_list_or_lines(tmp_path):
    rows = [{"a": 1}, {"a": "two\u2028"}]
    lists, lines = tmp_path / "list.json", tmp_path / "lines.json"
    lists.write_text("\n " + json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    lines.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    assert good(lists) == good(lines) == rows


def test_what_is_wrong_with_a_json_list_is_named(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('[{"a": 1},\n 7,\n {"a": 2}]')
    assert problems_of(file) == [f'{file}[1]: a JSON int is not an object. Allowed: {{"field": "value", …}}.']
    file.write_text('[{"a": 1},\n {"a": 2]')
    assert problems_of(file) == [f"{file}:2: not JSON (Expecting ',' delimiter, column 9). Allowed: a list of objects."]
    file.write_bytes(b'[{"a": 1},\n {"a": "\xff"}]')
    assert problems_of(file)[0].startswith(f"{file}:2: byte 0xff is not UTF-8")
    file.write_text("[" * 100_000)
    assert problems_of(file)[0].startswith(f"{file}: can't be read")


def test_tables_are_read_with_their_names(tmp_path):
    (tmp_path / "a.csv").write_bytes('\ufeffq,a\n"one, two",三\n"cell over\ntwo lines",4\n'.encode())
    (tmp_path / "a.tsv").write_text("q\ta\nx y\tz\n")
    assert good(tmp_path / "a.csv") == [{"q": "one, two", "a": "三"}, {"q": "cell over\ntwo lines", "a": "4"}]
    assert good(tmp_path / "a.tsv") == [{"q": "x y", "a": "z"}]
    assert good(tmp_path / "a.csv", "csv") == good(tmp_path / "a.csv")


def test_broken_tables_are_named(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("q,a\n1,2\n3\n4,5,6\n")
    what = "has another number of cells than the first line."
    assert problems_of(file) == [f"{file}:3: {what}", f"{file}:4: {what}"]
    file.write_bytes(b"q,a\n1,\xff\n")
    assert problems_of(file)[0].startswith(f"{file}:2: byte 0xff is not UTF-8")
    file.write_text('q,a\n"1"2,3\n')
    assert problems_of(file)[0].startswith(f"{file}:2: can't be read (")


def test_another_kind_of_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"notes\.md: this kind of file is not read. Allowed: \.jsonl, \.json, \.csv"):
        list(read_records(tmp_path / "notes.md"))


def test_parquet_asks_for_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"needs the package pyarrow. Allowed: pip install 'mf-data\[parquet\]'"):
        list(read_records(tmp_path / "a.parquet"))


def test_parquet_tables_are_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["one", "two"]}), tmp_path / "a.parquet")
    found = list(read_records(tmp_path / "a.parquet"))
    assert found == [
        (Location(f"{tmp_path / 'a.parquet'}[0]", 0), {"text": "one"}),
        (Location(f"{tmp_path / 'a.parquet'}[1]", 0), {"text": "two"}),
    ]
    (tmp_path / "b.parquet").write_text("no table")
    with pytest.raises(UserError, match="can't be read as parquet"):
        list(read_records(tmp_path / "b.parquet"))


def test_many_broken_records_end_the_reading_or_are_counted():
    def broken(record):
        raise RecordError("a", "is wrong")

    consumed = []

    def found():
        for number in range(1, 101):
            consumed.append(number)
            yield Location("f", number), types.MappingProxyType({})

    with pytest.raises(ConfigError) as caught:
        list(sift(converted(found(), broken), "stop"))
    assert len(caught.value.problems) == 20
    assert len(consumed) == 20
    text = describe_skipped([Problem(Location("f", line), "a", "is wrong") for line in range(1, 26)], 100)
    assert text.splitlines()[0] == "f: 25 of 100 records are broken and were skipped:"
    assert text.splitlines()[-1] == "and 5 more"
    assert len(text.splitlines()) == 22

import json

import numpy as np

from mf_config.command_line import OK, USER_ERROR
from mf_data.cli import main
from mf_data.indexed.files import IndexedFile
from mf_data.prepared.mind_record_files import MindRecordFile
from mf_data.prepared.mind_record_writer import MindRecordWriter

RECORDS = 'instruction,input,output\nSay hi,,hi\nAdd,"1, 2",3\n'


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_table_becomes_lines(tmp_path):
    (tmp_path / "a.csv").write_text(RECORDS)
    assert main(["convert", str(tmp_path / "a.csv"), str(tmp_path / "a.jsonl")]) == OK
    assert lines_of(tmp_path / "a.jsonl") == [
        {"instruction": "Say hi", "input": "", "output": "hi"},
        {"instruction": "Add", "input": "1, 2", "output": "3"},
    ]


def test_records_become_conversations_that_are_read_again(tmp_path):
    (tmp_path / "a.csv").write_text(RECORDS)
    words = ["convert", str(tmp_path / "a.csv"), str(tmp_path / "b.jsonl"), "--handler", "AlpacaInstructDataHandler"]
    assert main(words) == OK
    first, second = lines_of(tmp_path / "b.jsonl")
    assert [message["content"] for message in first["messages"]][-2:] == ["Say hi", "hi"]
    assert second["messages"][-1] == {"role": "assistant", "content": "3"}
    again = ["convert", str(tmp_path / "b.jsonl"), str(tmp_path / "c.jsonl"), "--handler", "MessagesDataHandler"]
    assert main(again) == OK
    assert lines_of(tmp_path / "c.jsonl") == [first, second]


def test_broken_records_stop_it_and_nothing_is_written(tmp_path, capsys):
    source = tmp_path / "a.jsonl"
    source.write_text('{"a": 1}\n{"a": \n{"a": 2}\n')
    target = tmp_path / "b.jsonl"
    target.write_text("what was there")
    assert main(["convert", str(source), str(target)]) == USER_ERROR
    assert f"{source}:2: not JSON" in capsys.readouterr().err
    assert target.read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]
    assert main(["convert", str(source), str(target), "--on-broken", "skip"]) == OK
    assert lines_of(target) == [{"a": 1}, {"a": 2}]


def test_rows_with_labels_have_no_place_in_an_indexed_file(tmp_path, capsys):
    path = tmp_path / "rows.mindrecord"
    with MindRecordWriter(str(path), ["input_ids", "labels"]) as writer:
        writer.add({"input_ids": np.arange(3), "labels": np.arange(3)})
    assert main(["convert", str(path), str(tmp_path / "out")]) == USER_ERROR
    assert "has the columns input_ids, labels. Allowed: input_ids alone" in capsys.readouterr().err
    assert main(["convert", str(path), str(tmp_path / "copy.mindrecord")]) == OK
    assert MindRecordFile(tmp_path / "copy.mindrecord").row(0)["labels"].tolist() == [0, 1, 2]


def test_tf_records_become_the_other_forms(tmp_path, data):
    source = data / "rows.tfrecord"
    assert main(["convert", str(source), str(tmp_path / "out")]) == OK
    assert [IndexedFile(tmp_path / "out")[n].tolist() for n in range(2)] == [[5, 300, 70], [1, 2, 3, 4]]
    assert main(["convert", str(source), str(tmp_path / "out.mindrecord")]) == OK
    assert MindRecordFile(tmp_path / "out.mindrecord").row(1)["input_ids"].tolist() == [1, 2, 3, 4]


def test_what_has_no_way_is_told(tmp_path, capsys):
    (tmp_path / "a.csv").write_text(RECORDS)
    assert main(["convert", str(tmp_path / "a.csv"), str(tmp_path / "out")]) == USER_ERROR
    assert "can't be turned into" in capsys.readouterr().err

import numpy as np
import pytest

from mf_config.problems import ConfigError, UserError
from mf_data.datasets.text_classification import TextClassificationDataset
from mf_data.loaders.mind_record import MindDataset
from mf_data.loaders.sft import SFTDataLoader
from mf_data.loaders.text import TextDataLoader
from mf_data.opening import open_dataset
from mf_data.prepared.mind_record_writer import MindRecordWriter

TASK = TextClassificationDataset()


def columns_of(loader, tokenizer, seq_length=6):
    rows = open_dataset(loader, TASK, tokenizer, seq_length)
    return {name: column.tolist() for name, column in rows[np.arange(len(rows))].items()}


def test_texts_of_a_table(tmp_path, bpe_chat):
    path = tmp_path / "train.tsv"
    path.write_text("sentence\tlabel\na good film, and a long one it was\t1\nbad\t0\n")
    columns = columns_of(SFTDataLoader(dataset_dir=str(path), dataset_name="sst-2"), bpe_chat)
    long, short = (bpe_chat.encode(text) for text in ("a good film, and a long one it was", "bad"))
    assert len(short) < 6 < len(long)
    rest = 6 - len(short)
    assert columns["input_ids"] == [long[:6], short + [bpe_chat.pad_id] * rest]
    assert columns["attention_mask"] == [[1] * 6, [1] * len(short) + [0] * rest]
    assert columns["labels"] == [[1], [0]]


def test_stored_rows(tmp_path, bpe_chat):
    path = tmp_path / "rows.mindrecord"
    with MindRecordWriter(str(path), ["input_ids", "input_mask", "segment_ids", "label_ids"]) as writer:
        for ids, mask, label in (([5, 6, 7, 0], [1, 1, 1, 0], 2), ([8, 9, 0, 0], [1, 1, 0, 0], 0)):
            row = {"input_ids": ids, "input_mask": mask, "segment_ids": [0] * 4, "label_ids": [label]}
            writer.add({name: np.array(values) for name, values in row.items()})
    columns = columns_of(MindDataset(dataset_dir=str(path)), bpe_chat, seq_length=4)
    assert columns["input_ids"] == [[5, 6, 7, 0], [8, 9, 0, 0]]
    assert columns["attention_mask"] == [[1, 1, 1, 0], [1, 1, 0, 0]]
    assert columns["labels"] == [[2], [0]]
    with pytest.raises(
        UserError, match=r"row 0 has 4 ids, 4 values of a mask and 1 labels. Allowed: up to seq_length = 3"
    ):
        columns_of(MindDataset(dataset_dir=str(path)), bpe_chat, seq_length=3)


def test_rows_without_a_class_are_refused(tmp_path, bpe_chat):
    path = tmp_path / "rows.mindrecord"
    with MindRecordWriter(str(path), ["input_ids"]) as writer:
        writer.add({"input_ids": np.arange(4)})
    with pytest.raises(UserError, match="has no column labels or label_ids or label"):
        columns_of(MindDataset(dataset_dir=str(path)), bpe_chat)


@pytest.mark.parametrize("label", ['"good"', "-1", "true", "null"])
def test_broken_classes_are_named_with_their_line(tmp_path, bpe_chat, label):
    path = tmp_path / "train.jsonl"
    path.write_text(f'{{"text": "fine", "label": 0}}\n{{"text": "x", "label": {label}}}\n')
    with pytest.raises(ConfigError, match=r"train.jsonl:2: label: .* is no class. Allowed: an integer from 0."):
        columns_of(SFTDataLoader(dataset_dir=str(path), dataset_name="imdb"), bpe_chat)


def test_other_loaders_are_refused(tmp_path, bpe_chat):
    with pytest.raises(UserError, match="TextClassificationDataset can't make rows of what TextDataLoader gives"):
        columns_of(TextDataLoader(dataset_dir=str(tmp_path)), bpe_chat)
    with pytest.raises(UserError, match=r"alpaca has no classes. Allowed: ag-news, cola, imdb, sst-2, tnews"):
        columns_of(SFTDataLoader(dataset_dir=str(tmp_path), dataset_name="alpaca"), bpe_chat)
    with pytest.raises(UserError, match="cola has texts with classes"):
        SFTDataLoader(dataset_dir=str(tmp_path), dataset_name="cola").conversations()

import numpy as np
import pytest

from mf_config.problems import UserError
from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.loaders.mind_record import MindDataset
from mf_data.opening import open_dataset
from mf_data.prepared.mind_record_writer import MindRecordWriter
from mf_data.rows.settings import RowSettings

PAD = 0  # Of bpe_chat; its end token is 4, its vocabulary has 900 entries.


def written(path, rows, **more):
    with MindRecordWriter(path, list(rows[0]), **more) as writer:
        for row in rows:
            writer.add({name: np.array(values) for name, values in row.items()})
    return str(path)


def open_rows(tokenizer, seq_length, **keys):
    return open_dataset(MindDataset(**keys), CausalLanguageModelDataset(), tokenizer, seq_length)


def columns_of(rows) -> dict:
    return {name: column.tolist() for name, column in rows[np.arange(len(rows))].items()}


def test_ids_alone_are_learnt_without_the_padding_behind_them(bpe_chat, tmp_path):
    path = written(tmp_path / "a.mindrecord", [{"input_ids": [5, 6, 4, PAD, PAD]}, {"input_ids": [7, PAD, 8, 9, 9]}])
    assert columns_of(open_rows(bpe_chat, 4, dataset_dir=path)) == {
        "input_ids": [[5, 6, 4, PAD, PAD], [7, PAD, 8, 9, 9]],
        "labels": [[5, 6, 4, -100, -100], [7, PAD, 8, 9, 9]],
    }


def test_the_first_end_token_counts_where_padding_looks_like_it(data, tmp_path):
    from mf_data.tokenizers.loading import load_tokenizer

    (tmp_path / "tokenizer.json").write_bytes((data / "bpe_chat" / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|end|>"}')
    path = written(tmp_path / "a.mindrecord", [{"input_ids": [5, 6, 4, 4, 4]}, {"input_ids": [4] * 5}])
    rows = open_rows(load_tokenizer(tmp_path), 4, dataset_dir=path)
    assert columns_of(rows)["labels"] == [[5, 6, 4, -100, -100], [4, -100, -100, -100, -100]]


def test_labels_stand_beside_ids_or_one_place_ahead(bpe_chat, tmp_path):
    beside = written(tmp_path / "a.mindrecord", [{"input_ids": [5, 6, 7], "labels": [-100, 6, 7]}])
    ahead = written(tmp_path / "b.mindrecord", [{"input_ids": [5, 6], "labels": [6, -100]}])
    assert columns_of(open_rows(bpe_chat, 2, dataset_dir=beside)) == {
        "input_ids": [[5, 6, 7]],
        "labels": [[-100, 6, 7]],
    }
    assert columns_of(open_rows(bpe_chat, 2, dataset_dir=ahead)) == {
        "input_ids": [[5, 6, PAD]],
        "labels": [[-100, 6, -100]],
    }


def test_target_ids_are_labels_where_they_are_chosen_or_alone(bpe_chat, tmp_path):
    alone = written(tmp_path / "a.mindrecord", [{"input_ids": [5, 6, 7], "target_ids": [-100, 6, 7]}])
    both = written(tmp_path / "b.mindrecord", [{"input_ids": [5, 6], "target_ids": [6, -100], "labels": [6, 7]}])
    chosen = {"columns_list": ("input_ids", "target_ids")}
    assert columns_of(open_rows(bpe_chat, 2, dataset_dir=alone))["labels"] == [[-100, 6, 7]]
    assert columns_of(open_rows(bpe_chat, 2, dataset_dir=both, **chosen))["labels"] == [[-100, 6, -100]]
    assert columns_of(open_rows(bpe_chat, 2, dataset_dir=both))["labels"] == [[-100, 6, 7]]


def test_masked_ids_are_not_learnt(bpe_chat, tmp_path):
    row = {"input_ids": [5, 6, 7], "labels": [5, 6, 7], "attention_mask": [1, 1, 0]}
    path = written(tmp_path / "a.mindrecord", [row])
    assert columns_of(open_rows(bpe_chat, 2, dataset_dir=path))["labels"] == [[5, 6, -100]]
    chosen = open_rows(bpe_chat, 2, dataset_dir=path, columns_list=("input_ids", "labels"))
    assert columns_of(chosen)["labels"] == [[5, 6, 7]]
    settings = RowSettings(input_columns=("input_ids", "attention_mask"))
    loader = MindDataset(dataset_dir=path)
    masked = open_dataset(loader, CausalLanguageModelDataset(), bpe_chat, 2, settings=settings)
    assert columns_of(masked)["labels"] == [[5, 6, -100]]


def test_a_folder_is_read_in_order_of_paths(bpe_chat, tmp_path):
    for name, first in (("b/x.mindrecord0", 20), ("a.mindrecord", 10), ("b/x.mindrecord1", 30)):
        written(tmp_path / name, [{"input_ids": [first, 1]}, {"input_ids": [first + 1, 1]}])
    (tmp_path / "notes.txt").write_text("not read")
    rows = open_rows(bpe_chat, 1, dataset_dir=str(tmp_path))
    assert rows[np.arange(6)]["input_ids"][:, 0].tolist() == [10, 11, 20, 21, 30, 31]
    assert rows[np.array([4, 1])]["input_ids"][:, 0].tolist() == [30, 11]
    listed = (str(tmp_path / "b" / "x.mindrecord1"), str(tmp_path / "a.mindrecord"))
    assert open_rows(bpe_chat, 1, dataset_files=listed)[np.arange(4)]["input_ids"][:, 0].tolist() == [30, 31, 10, 11]
    assert rows.fingerprint != open_rows(bpe_chat, 1, dataset_files=listed).fingerprint
    assert rows.fingerprint == open_rows(bpe_chat, 1, dataset_dir=str(tmp_path)).fingerprint


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"input_ids": [1, 2]}, r"row 0 has 2 input_ids. Allowed: seq_length \+ 1 = 3 of each"),
        ({"input_ids": [1, 2, 3], "labels": [1, 2]}, "row 0 has 3 input_ids, 2 labels"),
        ({"input_ids": [1, 900, 3]}, "row 0 holds the id 900, .* Allowed: 0 to 899"),
        ({"input_ids": [1, -1, 3]}, "row 0 holds the id -1"),
        ({"input_ids": [1, 2, 3], "labels": [-100, 2, 900]}, "row 0 holds the id 900, .* Allowed: 0 to 899"),
    ],
)
def test_rows_that_do_not_fit_the_run_are_named(bpe_chat, tmp_path, row, message):
    path = written(tmp_path / "a.mindrecord", [row])
    with pytest.raises(UserError, match=rf"a\.mindrecord: {message}"):
        open_rows(bpe_chat, 2, dataset_dir=path)[np.array([0])]


@pytest.mark.parametrize("column", ["input_ids", "labels"])
def test_a_model_may_have_more_ids_than_its_tokenizer(bpe_chat, tmp_path, column):
    usual = {"input_ids": [1, 2, 3], "labels": [1, 2, 3]}
    rows = [usual | {column: [1, 2, 905]}, usual | {column: [1, 2, 960]}]
    path = written(tmp_path / "a.mindrecord", rows)
    settings = RowSettings(vocab_size=960)
    opened = open_dataset(MindDataset(dataset_dir=path), CausalLanguageModelDataset(), bpe_chat, 2, settings=settings)
    assert opened[np.array([0])][column][0].tolist() == [1, 2, 905]
    with pytest.raises(UserError, match=r"row 1 holds the id 960, .* Allowed: 0 to 959"):
        opened[np.array([1])]


def test_files_that_can_not_be_read_are_named(bpe_chat, tmp_path):
    path = written(tmp_path / "a.mindrecord", [{"input_ids": [1, 2, 3]}])
    for keys, message in [
        ({}, "data_loader.dataset_dir: is missing"),
        ({"dataset_dir": str(tmp_path / "none")}, "data_loader.dataset_dir: .*none does not exist"),
        ({"dataset_files": ("nothing",)}, "data_loader.dataset_files: nothing does not exist"),
        (
            {"dataset_dir": path, "columns_list": ("token_type_ids",)},
            "not known what token_type_ids means. Allowed: input_ids, lab",
        ),
        ({"dataset_dir": path, "columns_list": ("input_ids", "labels")}, "has no column labels. Allowed: input_ids"),
    ]:
        with pytest.raises(UserError, match=message):
            open_rows(bpe_chat, 2, **keys)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no MindRecord files"):
        open_rows(bpe_chat, 2, dataset_dir=str(tmp_path / "empty"))

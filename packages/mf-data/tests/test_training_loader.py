import numpy as np
import pytest

from mf_config.problems import ConfigError, UserError
from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.loaders.text import TextDataLoader
from mf_data.loaders.training import TrainingDataLoader
from mf_data.opening import open_dataset

TASK = CausalLanguageModelDataset()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"body": "One line of text, which is short."}\n{"body": "And another one."}\n')
    (tmp_path / "b.csv").write_text("body\nA third text that stands in a table.\n")
    (tmp_path / "c.txt").write_text("The last one\nhas two lines, but for this purpose they are rather long lines.")
    return tmp_path


def rows_of(loader, tokenizer):
    rows = open_dataset(loader, TASK, tokenizer, seq_length=7)
    return rows[np.arange(len(rows))]["input_ids"].tolist()


def test_documents_of_all_forms(folder):
    texts = [document.text for document in TrainingDataLoader(dataset_dir=str(folder), text_col="body").documents()]
    assert texts == [
        "One line of text, which is short.",
        "And another one.",
        "A third text that stands in a table.",
        "The last one\nhas two lines, but for this purpose they are rather long lines.",
    ]
    loader = TrainingDataLoader(dataset_dir=str(folder), text_col="body", file_format="csv")
    assert [document.text for document in loader.documents()] == texts[2:3]


def test_an_epoch_has_as_many_rows_as_it_is_told(folder, bpe_chat):
    path = str(folder / "c.txt")
    rows = rows_of(TextDataLoader(dataset_dir=path), bpe_chat)
    assert len(rows) > 1
    fewer, more = len(rows) - 1, 2 * len(rows) + 1
    assert rows_of(TrainingDataLoader(dataset_dir=path, samples_num=fewer), bpe_chat) == rows[:fewer]
    assert rows_of(TrainingDataLoader(dataset_dir=path, samples_num=more), bpe_chat) == [*rows, *rows, rows[0]]


def test_the_first_rows_are_passed_over(folder, bpe_chat):
    path = str(folder / "c.txt")
    rows = rows_of(TextDataLoader(dataset_dir=path), bpe_chat)
    found = rows_of(TrainingDataLoader(dataset_dir=path, skip_num=2, samples_num=len(rows)), bpe_chat)
    assert found == [*rows[2:], *rows[2:]][: len(rows)]
    with pytest.raises(UserError, match=rf"skip_num: {len(rows)}, but there are .* Allowed: from 0 to {len(rows) - 1}"):
        rows_of(TrainingDataLoader(dataset_dir=path, skip_num=len(rows)), bpe_chat)


def test_each_text_may_have_a_row_of_its_own(folder, bpe_chat):
    loader = TrainingDataLoader(dataset_dir=str(folder), text_col="body", is_align=False, samples_num=4)
    columns = open_dataset(loader, TASK, bpe_chat, seq_length=30)[np.arange(4)]
    lengths = []
    for document, ids, labels in zip(loader.documents(), columns["input_ids"], columns["labels"], strict=True):
        text = [*bpe_chat.encode(document.text), bpe_chat.eos_id][:31]
        lengths.append(len(text))
        assert ids[: len(text)].tolist() == text
        # Nothing foretells the first token.
        assert labels.tolist() == [-100, *text[1:], *[-100] * (31 - len(text))]
    assert min(lengths) < 31 == max(lengths)


def test_a_data_set_without_a_reader_is_told(section_of):
    with pytest.raises(ConfigError, match="dataset_name: there is no reader for wikitext"):
        section_of("data_loader", "{type: TrainingDataLoader, dataset_name: wikitext}")

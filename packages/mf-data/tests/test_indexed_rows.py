import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.indexed.files import IndexedFile
from mf_data.indexed.rows import IndexedRows, split_documents
from mf_data.indexed.writer import IndexedWriter
from mf_data.loaders.indexed import IndexedDataLoader
from mf_data.opening import open_dataset
from mf_data.rows.settings import RowSettings


def written(folder, documents, dtype=np.int32):
    prefix = folder / "corpus"
    with IndexedWriter(prefix, dtype) as writer:
        for document in documents:
            writer.add_document([document])
    return prefix


def all_of(rows) -> list[list[int]]:
    return rows[np.arange(len(rows))]["input_ids"].tolist()


@pytest.mark.property
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    seq_length=st.integers(1, 12),
    bounds=st.tuples(st.integers(0, 12), st.integers(0, 12)),
)
def test_rows_are_windows_of_the_documents_in_a_line(tmp_path_factory, lengths, seq_length, bounds):
    ids = iter(range(1000))
    documents = [[next(ids) for _ in range(length)] for length in lengths]
    part = slice(*sorted(min(bound, len(documents)) for bound in bounds))
    line = [i for document in documents[part] for i in document]
    expected = [line[i : i + seq_length + 1] for i in range(0, len(line), seq_length)]
    expected = [window for window in expected if len(window) == seq_length + 1]
    if set(lengths) == {seq_length + 1}:
        expected = documents[part]
    file = IndexedFile(written(tmp_path_factory.mktemp("pair"), documents))
    try:
        rows = IndexedRows(file, seq_length, documents=range(part.start, part.stop))
    except UserError:
        assert not expected
    else:
        assert all_of(rows) == expected


def test_every_token_is_a_target_once(tmp_path):
    file = IndexedFile(written(tmp_path, [range(i, i + 10) for i in range(0, 100, 10)]))
    rows = IndexedRows(file, 11)
    assert [i for row in all_of(rows) for i in row[1:]] == list(range(1, 100))


def test_stored_rows_stay_as_they_are(tmp_path):
    documents = [[i, i + 1, i + 2] for i in (10, 20, 30)]
    assert all_of(IndexedRows(IndexedFile(written(tmp_path, documents)), 2)) == documents


def test_an_id_outside_the_vocabulary_is_named_with_its_sequence(data):
    rows = IndexedRows(IndexedFile(data / "indexed" / "good_int32"), 4, vocab_size=160)
    with pytest.raises(UserError, match=r"good_int32\.bin: sequence 1 holds the id 70000, .* Allowed: 0 to 159"):
        rows[np.array([0])]
    assert rows[np.array([2])]["input_ids"].tolist() == [[2, 3, 4, 5, 6]]


def test_values_that_are_no_integers_are_refused(tmp_path):
    with pytest.raises(UserError, match="holds float32 values"):
        IndexedRows(IndexedFile(written(tmp_path, [[1, 2, 3]], np.float32)), 1)


def test_too_little_text_is_refused(data):
    with pytest.raises(UserError, match="1 documents with 4 tokens fill no row of seq_length"):
        IndexedRows(IndexedFile(data / "indexed" / "good_uint16"), 4, documents=range(1))


def test_fingerprint_tells_files_and_cuts_apart(tmp_path):
    prefixes = []
    for number, last in enumerate((99, 98)):
        folder = tmp_path / str(number)
        prefixes.append(written(folder, [[*range(99), last]]))
    prints = {IndexedRows(IndexedFile(prefix), length).fingerprint for prefix in prefixes for length in (8, 9)}
    assert len(prints) == 4
    for suffix in (".bin", ".idx"):
        shutil.copyfile(f"{prefixes[0]}{suffix}", tmp_path / f"copy{suffix}")
    copy = IndexedRows(IndexedFile(tmp_path / "copy"), 8)
    assert copy.fingerprint == IndexedRows(IndexedFile(prefixes[0]), 8).fingerprint


@pytest.mark.parametrize(
    ("shares", "count", "ends"),
    [
        ("949,50,1", 1000, (949, 999, 1000)),
        # 94.9 and 99.9 of 100, rounded.
        ("949,50,1", 100, (95, 100, 100)),
        ("98, 2", 50, (49, 50, 50)),
        ("1", 7, (7, 7, 7)),
        ("0.5,0.25,0.25", 9, (4, 7, 9)),
        ("0,0,1", 3, (0, 0, 3)),
    ],
)
def test_documents_are_split_by_shares(shares, count, ends):
    found = split_documents(shares, count)
    assert [(part.start, part.stop) for part in found] == [(0, ends[0]), (ends[0], ends[1]), (ends[1], ends[2])]


@pytest.mark.parametrize("shares", ["", "a,b", "0,0,0", "1,-1,2", "1,2,3,4", "1/0"])
def test_shares_that_divide_nothing_are_refused(shares):
    with pytest.raises(UserError, match="is no list of shares"):
        split_documents(shares, 10)


def test_the_loader_reads_its_part(bpe_chat, tmp_path):
    prefix = written(tmp_path, [[i] * 5 for i in range(10)])
    loader = IndexedDataLoader(path_prefix=str(prefix), split="8,1,1", part="valid")
    rows = open_dataset(loader, CausalLanguageModelDataset(), bpe_chat, 2)
    assert all_of(rows) == [[8, 8, 8], [8, 8, 8]]


def test_the_loader_keeps_documents_apart(bpe_chat, tmp_path):
    prefix = written(tmp_path, [[7, 8, 4], [9, 4], [5, 6]])
    loader = IndexedDataLoader(path_prefix=str(prefix))
    rows = open_dataset(
        loader, CausalLanguageModelDataset(), bpe_chat, 6, settings=RowSettings(eod_reset=True, eod_token_id=4)
    )
    columns = {name: column.tolist() for name, column in rows[np.array([0])].items()}
    assert columns == {
        "input_ids": [[7, 8, 4, 9, 4, 5, 6]],
        "labels": [[-100, 8, 4, -100, 4, -100, 6]],
        "position_ids": [[0, 1, 2, 0, 1, 0, 1]],
        "segment_ids": [[0, 0, 0, 1, 1, 2, 2]],
    }
    assert rows.padding == {"input_ids": 0, "labels": -100, "position_ids": 0, "segment_ids": 0}


def test_the_loader_wants_a_path_and_a_proper_split(section_of, bpe_chat):
    with pytest.raises(UserError, match="path_prefix: is missing"):
        IndexedDataLoader().prepared_rows(8, bpe_chat, RowSettings())
    with pytest.raises(UserError, match=r"section\.split: 9,x is no list of shares. Allowed: up to three"):
        section_of("data_loader", "{type: IndexedDataLoader, split: '9,x'}")

from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_data.reading.batches import Batches
from mf_data.rows.blending import BlendedRows, BlendGroups, interleave, place_of
from mf_data.rows.chosen import at_most
from mf_data.rows.data_set import ColumnRows
from mf_data.rows.document_rows import DocumentRows
from mf_data.rows.row_order import FileGroups, order_of

COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(sum)
SEEDS = st.integers(0, 2**64 - 1)


def rows_of(count: int, first: int = 0) -> ColumnRows:
    return ColumnRows({"input_ids": np.arange(first, first + count, dtype=np.int32)[:, None]}, {"input_ids": 0})


@pytest.mark.property
@given(counts=COUNTS, seed=SEEDS, number=st.integers(0, 9))
def test_files_come_whole_and_in_their_own_order(counts, seed, number):
    found = FileGroups(counts).order_of_groups(seed, number)(np.arange(sum(counts))).tolist()
    files = [list(range(start, stop)) for start, stop in pairwise([0, *accumulate(counts)])]
    read = []
    while found:
        (file,) = [file for file in files if file and file[0] == found[0]]
        assert found[: len(file)] == file
        found = found[len(file) :]
        read += file
    assert sorted(read) == list(range(sum(counts)))


@pytest.mark.property
@given(counts=COUNTS, seed=SEEDS, number=st.integers(0, 9))
def test_rows_stay_within_their_file(counts, seed, number):
    found = FileGroups(counts).order_within(seed, number)(np.arange(sum(counts))).tolist()
    for start, stop in pairwise([0, *accumulate(counts)]):
        assert sorted(found[start:stop]) == list(range(start, stop))


@pytest.mark.property
@given(counts=st.lists(st.integers(0, 700), min_size=1, max_size=5).filter(sum), seed=SEEDS)
def test_turns_of_a_mixture_change_and_its_parts_keep_their_order(counts, seed):
    places = np.arange(sum(counts))
    rows = BlendGroups(counts).order_of_groups(seed, 0)(places)
    assert sorted(rows.tolist()) == places.tolist()
    sources, numbers = interleave(rows, counts)
    for source, count in enumerate(counts):
        assert numbers[sources == source].tolist() == list(range(count))


@pytest.mark.property
@given(counts=st.lists(st.integers(0, 700), min_size=1, max_size=5).filter(sum), seed=SEEDS)
def test_rows_of_a_mixture_stay_within_their_part(counts, seed):
    places = np.arange(sum(counts))
    rows = BlendGroups(counts).order_within(seed, 3)(places)
    assert sorted(rows.tolist()) == places.tolist()
    np.testing.assert_array_equal(interleave(rows, counts)[0], interleave(places, counts)[0])


@pytest.mark.property
@given(counts=st.lists(st.integers(0, 2**28), min_size=1, max_size=5).filter(sum), data=st.data())
def test_places_in_a_mixture_are_found_again(counts, data):
    places = np.array(data.draw(st.lists(st.integers(0, sum(counts) - 1), min_size=1, max_size=20)))
    np.testing.assert_array_equal(place_of(*interleave(places, counts), counts), places)


@pytest.mark.parametrize("shuffle", ["files", "infile"])
def test_a_large_order_is_random_and_new_in_each_pass(shuffle):
    rows = BlendedRows([rows_of(500), rows_of(500, 1000)], [500, 500])
    passes = [order_of(rows, shuffle, 5, number)(np.arange(1000)) for number in range(3)]
    for one, other in [(passes[0], passes[1]), (passes[1], passes[2]), (passes[0], np.arange(1000))]:
        assert (one == other).mean() < 0.2


def test_batches_follow_the_level_and_keep_it_in_their_state():
    inner = BlendedRows([rows_of(8), rows_of(4, 100)], [8, 4])
    rows = DocumentRows(inner, end_id=-1)
    batches = {
        level: Batches(rows, global_batch_size=3, seed=1, shuffle=level)
        for level in (True, "global", "files", "infile")
    }
    read = {
        level: np.concatenate([each.batch(step).columns["input_ids"][:, 0] for step in range(4)]).tolist()
        for level, each in batches.items()
    }
    assert read[True] == read["global"]
    assert [i for i in read["files"] if i < 100] == list(range(8))
    assert [i >= 100 for i in read["infile"]] == [i >= 100 for i in inner[np.arange(12)]["input_ids"][:, 0]]
    assert sorted(read["infile"]) == sorted(read[True])
    assert batches["global"].step_of(batches[True].state(2)) == 2
    with pytest.raises(UserError, match=r"shuffle: infile, but the checkpoint was made with files"):
        batches["infile"].step_of(batches["files"].state(2))


@pytest.mark.parametrize("rows", [rows_of(6), at_most(BlendedRows([rows_of(6)], [6]), 4), DocumentRows(rows_of(6), 1)])
def test_rows_without_files_can_not_be_read_file_by_file(rows):
    with pytest.raises(UserError, match=r"data_loader.shuffle: files needs the rows of files or of a whole mixture"):
        Batches(rows, global_batch_size=2, seed=0, shuffle="files")

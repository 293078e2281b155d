"""Keys of a data set's section have their effect on what a run reads."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from mf_config import decode, load
from mf_train.data import RunData
from mf_train.layout.processes import Processes
from mf_train.task import Examples

SHORT = "".join(f'{{"text": "{i} and {i + 1}."}}\n' for i in range(80))


@contextmanager
def data_of(run_file: Path, *settings: str) -> Iterator[RunData]:
    with closing(RunData(decode(load(str(run_file), settings)), Processes.alone())) as made:
        yield made


def examples_of(run_file: Path, *settings: str) -> list[Examples]:
    """All batches of two epochs."""
    with data_of(run_file, *settings) as data:
        batches = data.training
        return [data.examples(batches, step) for step in range(2 * batches.steps_per_epoch)]


def test_documents_of_a_row_are_told_where_they_are_to_be_kept_apart(run_file: Path, tmp_path: Path):
    (tmp_path / "short.jsonl").write_text(SHORT)
    place = f"train_dataset.data_loader.dataset_dir={tmp_path / 'short.jsonl'}"
    assert all(each.document_starts_BT is None for each in examples_of(run_file, place))
    end = 2
    for each in examples_of(run_file, place, "train_dataset.eod_reset=True"):
        assert (each.input_ids_BT == end).any()
        assert each.document_starts_BT is not None
        for ids, labels_weights, starts in zip(
            each.input_ids_BT, each.weights_BT, each.document_starts_BT, strict=True
        ):
            ends = np.flatnonzero(ids == end)
            begun = np.searchsorted(ends, np.arange(len(ids)))
            np.testing.assert_array_equal(starts, np.concatenate([[0], ends + 1])[begun])
            # The end token foretells nothing of the next document.
            np.testing.assert_array_equal(labels_weights == 0, ids == end)


@pytest.mark.parametrize(
    "settings",
    [
        ("train_dataset.python_multiprocessing=True", "train_dataset.num_parallel_workers=2"),
        ("train_dataset.num_parallel_workers=1", "train_dataset.prefetch_size=3"),
        ("auto_tune=True", "autotune_per_step=2"),
    ],
)
def test_who_makes_the_batches_changes_nothing(run_file: Path, settings: tuple[str, ...]):
    found, wanted = examples_of(run_file, *settings), examples_of(run_file)
    assert len(found) == len(wanted) == 12
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.input_ids_BT, other.input_ids_BT)


def test_rows_are_repeated_within_an_epoch(run_file: Path):
    with data_of(run_file) as once, data_of(run_file, "train_dataset.repeat=3") as thrice:
        assert thrice.training.steps_per_epoch == 3 * once.training.steps_per_epoch
        for step in range(8):
            one, other = (data.examples(data.training, step) for data in (once, thrice))
            np.testing.assert_array_equal(one.input_ids_BT, other.input_ids_BT)


def test_tuned_workers_are_written_down(run_file: Path, tmp_path: Path):
    place = tmp_path / "tuned"
    settings = ("auto_tune=True", "autotune_per_step=3", f"filepath_prefix={place}")
    assert len(examples_of(run_file, *settings)) == 12
    found = json.loads((place / "autotune_training_0.json").read_text())
    assert 1 <= found["num_parallel_workers"] <= 8
    assert found["prefetch_size"] == 1
    assert 0 <= found["waited"] <= 1
    assert not list(tmp_path.glob("autotune*"))
    examples_of(run_file, *settings, "profile=True", f"filepath_prefix={tmp_path / 'profiled'}")
    assert not (tmp_path / "profiled").exists()

"""Which checkpoints count, and which go."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_ckpt import Writer, checkpoints, clean, latest, retire, step_name
from mf_ckpt import open as open_checkpoint
from mf_ckpt.retention import plan_retirement


def save(root: Path, *steps: int) -> None:
    for step in steps:
        with Writer(root / step_name(step), step=step) as writer:
            writer.add("w", np.float32([step]))


def test_names_sort_like_steps():
    assert step_name(300) == "step-00000300"
    assert step_name(123456789) == "step-123456789"


def test_checkpoints_come_in_the_order_of_their_steps(tmp_path: Path):
    save(tmp_path, 20, 3, 123456789)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-00000003", "step-00000020", "step-123456789"]
    assert latest(tmp_path) == tmp_path / "step-123456789"


def test_incomplete_and_foreign_folders_do_not_count(tmp_path: Path):
    save(tmp_path, 1, 2, 3, 4)
    (tmp_path / "step-00000004" / "manifest.json").unlink()
    (tmp_path / "step-00000003" / "model.safetensors.index.json").unlink()
    manifest = tmp_path / "step-00000002" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"step": 2', '"step": 9'))
    (tmp_path / "step-5").mkdir()
    (tmp_path / "step-00000006").symlink_to(tmp_path / "step-00000001")
    assert checkpoints(tmp_path) == [tmp_path / "step-00000001"]


def test_a_missing_root_has_none(tmp_path: Path):
    assert checkpoints(tmp_path / "none") == []
    assert latest(tmp_path / "none") is None
    assert clean(tmp_path / "none") == []


@given(steps=st.lists(st.integers(), unique=True).map(sorted), keep_last=st.integers(1, 12))
def test_the_newest_stay(steps: list[int], keep_last: int):
    doomed = plan_retirement(steps, keep_last)
    kept = [step for step in steps if step not in doomed]
    assert len(kept) == min(keep_last, len(steps))
    assert doomed + kept == steps


def test_at_least_one_must_stay():
    with pytest.raises(ValueError, match="keep_last is 0"):
        plan_retirement([1, 2], 0)


def test_retire_deletes_the_oldest_and_leaves_incomplete_ones_alone(tmp_path: Path):
    save(tmp_path, 1, 2, 3, 4)
    (tmp_path / "step-00000004" / "manifest.json").unlink()
    assert retire(tmp_path, keep_last=2) == [tmp_path / "step-00000001"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000002", "step-00000003", "step-00000004"]


def test_clean_finishes_a_deletion_that_had_only_begun(tmp_path: Path):
    save(tmp_path, 1, 2)
    (tmp_path / "step-00000001").rename(tmp_path / ".step-00000001.retired-1-00000000")
    assert clean(tmp_path) == [tmp_path / ".step-00000001.retired-1-00000000"]
    assert list(tmp_path.iterdir()) == [tmp_path / "step-00000002"]


def test_clean_prefers_the_new_checkpoint_to_the_replaced_one(tmp_path: Path):
    save(tmp_path, 1)
    (tmp_path / "step-00000001").rename(tmp_path / ".step-00000001.replaced-1-00000000")
    save(tmp_path, 1)
    with Writer(tmp_path / "other", step=1) as writer:
        writer.add("w", np.float32([-1]))
    (tmp_path / "step-00000001").rename(tmp_path / ".step-00000001.replaced-1-11111111")
    (tmp_path / "other").rename(tmp_path / ".step-00000001.partial-9-00000000")
    clean(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]
    assert open_checkpoint(tmp_path / "step-00000001")["w"].tolist() == [-1]


def test_clean_leaves_other_hidden_folders_alone(tmp_path: Path):
    for name in (".git", ".step-00000001.partial", ".step-00000001.partial-1-0000000g"):
        (tmp_path / name).mkdir()
    assert clean(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 3

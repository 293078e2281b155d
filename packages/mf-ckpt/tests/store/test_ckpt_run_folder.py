"""Which checkpoints count, and which go."""

import os
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mf_ckpt import Writer, checkpoints, clean, find, latest, resume_point, retire, step_name, thin
from mf_ckpt import open as open_checkpoint
from mf_ckpt.formats.mindspore_ckpt import CkptWriter
from mf_ckpt.store.run_folder import plan_retirement, plan_thinning
from mf_config.problems import UserError


def save(root: Path, *steps: int) -> None:
    for step in steps:
        with Writer(root / step_name(step), step=step) as writer:
            writer.add("w", np.float32([step]))


def save_one(root: Path, step: int) -> Path:
    save(root, step)
    return root / step_name(step)


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


@given(
    steps=st.lists(st.integers(0, 400), unique=True).map(sorted),
    keep_last=st.integers(1, 12),
    keep_every=st.none() | st.integers(1, 50),
)
def test_the_newest_and_the_multiples_stay(steps: list[int], keep_last: int, keep_every: int | None):
    doomed = plan_retirement({step_name(step): step for step in steps}, keep_last, keep_every)
    stay = {step for place, step in enumerate(steps) if place >= len(steps) - keep_last}
    stay |= {step for step in steps if keep_every is not None and step in range(0, 401, keep_every)}
    assert doomed == [step_name(step) for step in steps if step not in stay]


@given(
    first_keep=st.integers(1, 12),
    keep_last=st.integers(1, 12),
    keep_every=st.integers(1, 9),
    count=st.integers(0, 40),
)
def test_retiring_after_each_save_leaves_what_retiring_once_leaves(
    first_keep: int, keep_last: int, keep_every: int, count: int
):
    kept: dict[int, int] = {}
    for step in range(1, count + 1):
        kept[step] = step
        for gone in plan_retirement(kept, keep_last, keep_every):
            del kept[gone]
    once = {step: step for step in range(1, count + 1)}
    assert set(kept) == set(once) - set(plan_retirement(once, keep_last, keep_every))
    # What fewer newest ones keep is among what more of them keep.
    fewer, more = sorted((first_keep, keep_last))
    assert set(plan_retirement(once, more, keep_every)) <= set(plan_retirement(once, fewer, keep_every))


@pytest.mark.parametrize(("keep_last", "keep_every", "fault"), [(0, None, "keep_last is 0"), (1, 0, "keep_every is 0")])
def test_rules_that_mean_nothing_are_refused(keep_last: int, keep_every: int | None, fault: str):
    with pytest.raises(ValueError, match=fault):
        plan_retirement({"a": 1, "b": 2}, keep_last, keep_every)


@settings(max_examples=25)
@given(
    saves=st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=8),
    keep_last=st.integers(1, 3),
    keep_every=st.none() | st.integers(1, 4),
)
def test_an_interrupted_save_costs_no_checkpoint(
    tmp_path_factory: pytest.TempPathFactory,
    saves: list[tuple[int, bool]],
    keep_last: int,
    keep_every: int | None,
):
    root = tmp_path_factory.mktemp("root")
    complete: set[int] = set()
    for step, finishes in saves:
        try:
            with Writer(root / step_name(step), step=step) as writer:
                writer.add("w", np.float32([step]))
                if not finishes:
                    raise InterruptedError
            complete.add(step)
        except InterruptedError:
            pass
        before = sorted(complete)
        retire(root, keep_last, keep_every)
        complete = {s for s in before if s in before[-keep_last:] or (keep_every and s % keep_every == 0)}
        assert checkpoints(root) == [root / step_name(s) for s in sorted(complete)]


def test_retire_deletes_the_oldest_and_leaves_incomplete_ones_alone(tmp_path: Path):
    save(tmp_path, 1, 2, 3, 4)
    (tmp_path / "step-00000004" / "manifest.json").unlink()
    assert retire(tmp_path, keep_last=2) == [tmp_path / "step-00000001"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000002", "step-00000003", "step-00000004"]


@given(
    gaps=st.lists(st.integers(0, 50), min_size=1, max_size=12),
    apart=st.integers(1, 60),
)
def test_thinning_keeps_a_distance_and_the_newest(gaps: list[int], apart: int):
    times = {step: float(sum(gaps[:step])) for step in range(len(gaps))}
    kept = [step for step in times if step not in plan_thinning(times, apart)]
    assert kept[0] == 0
    assert kept[-1] == len(gaps) - 1
    assert all(times[later] - times[one] >= apart for one, later in pairwise(kept[:-1]))
    # What went lay too close behind one that stays.
    for gone in set(times) - set(kept):
        assert times[gone] - max(times[step] for step in kept if step < gone) < apart


def test_thin_goes_by_the_time_of_the_save_and_leaves_incomplete_ones_alone(tmp_path: Path):
    save(tmp_path, 1, 2, 3, 4)
    for step in (1, 2, 3, 4):
        os.utime(tmp_path / step_name(step) / "manifest.json", (60 * step, 60 * step))
    (tmp_path / step_name(2) / "model.safetensors.index.json").unlink()
    assert thin(tmp_path, timedelta(minutes=3)) == [tmp_path / step_name(3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [step_name(step) for step in (1, 2, 4)]


def test_retire_keeps_multiples_of_a_number(tmp_path: Path):
    save(tmp_path, 1, 2, 3, 4, 5)
    assert retire(tmp_path, keep_last=1, keep_every=2) == [tmp_path / step_name(step) for step in (1, 3)]
    assert retire(tmp_path, keep_last=1, keep_every=4) == [tmp_path / step_name(2)]


def test_a_checkpoint_that_goes_away_while_others_look_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save(tmp_path, 1, 2)
    is_file = Path.is_file

    def vanish(self: Path) -> bool:
        found = is_file(self)
        if self.parent.name == step_name(1):
            self.unlink()
        return found

    monkeypatch.setattr(Path, "is_file", vanish)
    assert checkpoints(tmp_path) == [tmp_path / step_name(2)]


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


def test_a_checkpoint_means_itself(tmp_path: Path) -> None:
    folder = save_one(tmp_path, 3)
    assert find(str(folder)) == folder
    file = folder / "model-00001-of-00001.safetensors"
    assert find(file) == file


def test_of_a_run_the_newest_complete_checkpoint_is_taken(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    older, newer, broken = (save_one(root, step) for step in (3, 20, 100))
    (broken / "manifest.json").unlink()
    assert older != newer
    assert find(tmp_path) == newer
    assert find(root) == newer


def test_a_run_without_a_complete_checkpoint_is_refused(tmp_path: Path) -> None:
    (save_one(tmp_path / "checkpoint", 3) / "manifest.json").unlink()
    with pytest.raises(UserError) as caught:
        find(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/checkpoint: holds no complete checkpoint: nothing was saved yet, or the save was interrupted"
    )


def test_a_path_that_is_no_checkpoint_is_left_for_open_to_refuse(tmp_path: Path) -> None:
    assert find(tmp_path / "nothing") == tmp_path / "nothing"
    with pytest.raises(UserError, match="no such file or folder"):
        open_checkpoint(find(tmp_path / "nothing"))


def test_the_folders_of_ranks_in_a_run_of_mindformers_are_found(tmp_path: Path) -> None:
    with CkptWriter(tmp_path / "checkpoint/rank_0/l_rank_0-1_2.ckpt") as writer:
        writer.add("w", np.arange(3))
    assert find(tmp_path) == find(tmp_path / "checkpoint") == tmp_path / "checkpoint"
    assert open_checkpoint(find(tmp_path))["w"].tolist() == [0, 1, 2]


@pytest.fixture
def resumed(tmp_path: Path) -> Path:
    for step in (3, 7):
        with Writer(tmp_path / "checkpoint" / f"step-{step:08d}", step=step) as writer:
            writer.add("w", np.zeros(2, np.float32))
    (tmp_path / "checkpoint" / "step-00000009").mkdir()
    return tmp_path


def test_a_run_is_resumed_from_its_newest_or_from_the_named_checkpoint(resumed: Path):
    newest = resumed / "checkpoint" / "step-00000007"
    assert (
        resume_point(resumed, True)
        == resume_point(resumed / "checkpoint", True)
        == resume_point(newest, True)
        == newest
    )
    assert resume_point(resumed, "step-00000003") == resumed / "checkpoint" / "step-00000003"


def test_a_name_that_cannot_be_resumed_is_refused(resumed: Path, tmp_path: Path):
    with pytest.raises(UserError, match=r"'step-00000009' is not complete .* Allowed: step-00000003, step-00000007"):
        resume_point(resumed, "step-00000009")
    with pytest.raises(UserError, match=r"'step-0000007' doesn't exist .* Did you mean step-00000007"):
        resume_point(resumed, "step-0000007")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no complete checkpoint"):
        resume_point(tmp_path / "empty", True)

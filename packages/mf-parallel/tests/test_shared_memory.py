"""Sums through shared memory: the sums of numpy in rank order, and an end for ranks whose partners have none."""

import math
import shutil
import subprocess
import sys
import time
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from mf_parallel.shared_memory import segment
from mf_parallel.testing import run_processes

pytestmark = [
    pytest.mark.multiproc,
    pytest.mark.skipif(shutil.which("c++") is None, reason="the sums are compiled by a C++ compiler"),
]

PROGRAMS = Path(__file__).parent / "programs"
GROUPS = ((0, 1, 2, 3), (0, 1), (2, 3), (0, 1, 2))
CHUNK = 64 * 1024
SHAPES = ((), (1,), (3, 5), (CHUNK,), (CHUNK + 1,), (5, CHUNK // 2 + 7), (0,))


def run(folder: Path, workers: int, *how: str):
    program = [str(PROGRAMS / "shared_sums.py"), str(folder), *how]
    return run_processes(program, workers=workers, directory=folder, timeout_s=150)


@pytest.fixture(scope="module")
def four_ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, np.ndarray]]:
    pytest.importorskip("mindspore")
    folder = tmp_path_factory.mktemp("four_ranks")
    result = run(folder, 4)
    assert result.exit_status == 0, result.first_traceback or result.outputs
    assert "AllReduce" not in result.outputs[0]
    return [dict(np.load(folder / f"rank_{rank}.npz")) for rank in range(4)]


def tensors_of(rank: int) -> list[np.ndarray]:
    draws = np.random.default_rng(rank)
    return [np.asarray(draws.standard_normal(shape), np.float32) for shape in SHAPES]


@pytest.mark.parametrize("rank", range(4))
def test_sums_have_the_bits_of_additions_in_rank_order(four_ranks, rank):
    for place, ranks in enumerate(ranks for ranks in GROUPS if rank in ranks):
        for item, terms in enumerate(zip(*map(tensors_of, ranks), strict=True)):
            np.testing.assert_array_equal(four_ranks[rank][f"{place}_{item}"], reduce(np.add, terms), strict=True)


@pytest.mark.parametrize("rank", range(4))
def test_half_precision_is_rounded_once(four_ranks, rank):
    halves = [tensors_of(other)[2].astype(np.float16) for other in range(4)]
    exact = np.sum([half.astype(np.float64) for half in halves], axis=0)
    np.testing.assert_array_equal(four_ranks[rank]["half"], exact.astype(np.float16), strict=True)


@pytest.mark.parametrize("rank", range(4))
def test_gradients_pass_through_divided_layers(four_ranks, rank):
    draws = np.random.default_rng(99)
    x, a, b = (draws.standard_normal(shape).astype(np.float32).astype(float) for shape in ((2, 3), (3, 8), (8, 3)))
    expected = {"loss": 0.0, "dx": np.zeros_like(x), "da": np.zeros_like(a), "db": np.zeros_like(b)}
    for factor in (1, 2, 3):
        inner = (x @ a * factor) ** 2
        slope = 2 * factor**2 * (x @ a) * b.sum(-1)
        expected["loss"] += (inner @ b).sum()
        expected["dx"] += slope @ a.T
        expected["da"] += x.T @ slope
        expected["db"] += inner.sum(0)[:, None]
    own = slice(rank * 2, rank * 2 + 2)
    expected |= {"da": expected["da"][:, own], "db": expected["db"][own]}
    for name, value in expected.items():
        assert np.linalg.norm(four_ranks[rank][name] - value) < 1e-6 * np.linalg.norm(value), name


@pytest.mark.parametrize("rank", range(4))
def test_gathers_and_divided_sums_are_made_of_them(four_ranks, rank):
    pieces = [tensors_of(other)[3].reshape(4, -1) for other in range(4)]
    np.testing.assert_array_equal(four_ranks[rank]["gathered"], np.concatenate(pieces, 1))
    np.testing.assert_array_equal(four_ranks[rank]["scattered"], reduce(np.add, pieces)[rank : rank + 1])


def test_the_segment_has_no_name_while_ranks_use_it(four_ranks):
    assert [list(found["names"]) for found in four_ranks] == [[]] * 4


def test_a_rank_that_dies_takes_the_others_along(tmp_path):
    pytest.importorskip("mindspore")
    begin = time.monotonic()
    result = run(tmp_path, 2, "killed")
    assert result.exit_status == 1
    assert time.monotonic() - begin < 60
    assert list(segment.FOLDER.glob("mf-*")) == []


def test_without_a_place_for_it_sums_are_those_of_mindspore(tmp_path):
    pytest.importorskip("mindspore")
    result = run(tmp_path, 2, "native")
    assert result.exit_status == 0, result.first_traceback or result.outputs
    said = "take MindSpore's AllReduce and not shared memory, which is faster: No such file or directory"
    assert [output.count(said) for output in result.outputs] == [1, 0]
    found = np.load(tmp_path / "rank_1.npz")
    for item, terms in enumerate(zip(tensors_of(0), tensors_of(1), strict=True)):
        if math.prod(SHAPES[item]):
            np.testing.assert_allclose(found[f"0_{item}"].reshape(SHAPES[item]), terms[0] + terms[1], rtol=1e-6)


def by_hand(folder: Path, *words: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """Status and output of both ranks, given length, number of sums and patience of each."""
    program = [sys.executable, str(PROGRAMS / "sum_by_hand.py")]
    processes = [
        subprocess.Popen(
            [*program, str(rank), str(folder), *own], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank, own in enumerate(words)
    ]
    said = [process.communicate(timeout=60) for process in processes]
    return [(process.returncode, *texts) for process, texts in zip(processes, said, strict=True)]


def test_without_room_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv(segment.SWITCH, "0")
    assert by_hand(tmp_path, ("5", "1"), ("5", "1")) == [(0, "none\n", "")] * 2


def test_many_sums_in_a_row(tmp_path):
    length = str(3 * CHUNK + 1)
    assert by_hand(tmp_path, (length, "300"), (length, "300")) == [(0, "599.0 599.0\n", "")] * 2


def test_a_rank_that_waits_in_vain_ends_and_names_the_group(tmp_path):
    (status, _, said), (other, _, _) = by_hand(tmp_path, ("5", "3", "2"), ("5", "2", "2"))
    assert (status, other) == (1, 0)
    assert said == "mf-parallel: sum over the ranks 0 1: rank 0 has lost patience with rank 1.\n"


def test_tensors_of_several_sizes_are_not_mixed_up(tmp_path):
    (status, _, said), _ = by_hand(tmp_path, ("5", "1", "2"), ("6", "1", "2"))
    assert status == 1
    assert said == "mf-parallel: sum over the ranks 0 1: rank 0 sums a tensor of another size than rank 1.\n"

"""Gradients averaged by tokens: over two processes, and in a group of one."""

import json
from pathlib import Path

import numpy as np
import pytest

from mf_parallel.testing import run_processes

ms = pytest.importorskip("mindspore")

PROGRAM = Path(__file__).parent / "programs" / "average_gradients.py"


RANKS = 2


def make_batch() -> dict[str, np.ndarray]:
    """Eight rows: rank 0 has three with one target, rank 1 has five with five targets."""
    numbers = np.random.default_rng(0)
    draws = {"x": (8, 5), "target": (8, 3), "first": (5, 4), "second": (4, 3)}
    batch = {name: numbers.standard_normal(shape).astype(np.float32) for name, shape in draws.items()}
    batch["mask"] = np.array([1, 0, 0, 1, 1, 1, 1, 1], np.float32)
    batch["owner"] = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    return batch


def token_mean(batch: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Mean loss and its gradients by the chain rule in float64, over some rows of the batch."""
    x, target, first, second, mask = (
        batch[name].astype(np.float64) for name in ("x", "target", "first", "second", "mask")
    )
    x, target, mask = x[rows], target[rows], mask[rows]
    hidden = np.tanh(x @ first)
    error = hidden @ second - target
    slope = 2 * error * mask[:, None] / mask.sum()
    return {
        "loss": ((error**2).sum(-1) * mask).sum() / mask.sum(),
        "first": x.T @ (slope @ second.T * (1 - hidden**2)),
        "second": hidden.T @ slope,
    }


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, np.ndarray]], list[dict]]:
    folder = tmp_path_factory.mktemp("two_ranks")
    np.savez(folder / "batch.npz", **make_batch())
    result = run_processes([str(PROGRAM), str(folder)], workers=RANKS, directory=folder, timeout_s=120)
    assert result.exit_status == 0, result.first_traceback or result.outputs
    arrays = [dict(np.load(folder / f"rank_{rank}.npz")) for rank in range(RANKS)]
    return arrays, [json.loads((folder / f"rank_{rank}.json").read_text()) for rank in range(RANKS)]


@pytest.mark.multiproc
@pytest.mark.parametrize("rank", range(RANKS))
def test_all_ranks_give_the_gradients_of_one_process(two_ranks, rank):
    found = two_ranks[0][rank]
    expected = token_mean(make_batch(), np.arange(8))
    assert found["tokens"] == 6
    for name in ("loss", "first", "second"):
        assert relative_error(found[name], expected[name]) < 1e-6


@pytest.mark.multiproc
def test_the_mean_of_the_ranks_means_would_be_another(two_ranks):
    batch = make_batch()
    means = [token_mean(batch, batch["owner"] == rank) for rank in range(RANKS)]
    expected = token_mean(batch, np.arange(8))
    for name in ("loss", "first", "second"):
        assert relative_error((means[0][name] + means[1][name]) / 2, expected[name]) > 0.05
    # The ranks themselves saw different gradients: nothing was averaged before.
    for rank in range(RANKS):
        targets = batch["mask"][batch["owner"] == rank].sum()
        assert relative_error(two_ranks[0][rank]["local_first"], means[rank]["first"] * targets) < 1e-6


@pytest.mark.multiproc
@pytest.mark.parametrize("rank", range(RANKS))
def test_values_are_gathered_exactly(two_ranks, rank):
    found = two_ranks[1][rank]
    assert found["gathered"] == [{"rank": 0, "text": "", "third": 1 / 3}, {"rank": 1, "text": "ä", "third": 1 / 3}]
    assert found["total"] == [[3.0, 1.0]]


@pytest.fixture(scope="module")
def alone():
    # These modules import mindspore, which may be missing here.
    from mf_parallel.collectives import Communicator
    from mf_parallel.gradients import TokenMean

    ms.set_context(mode=ms.GRAPH_MODE)

    class Outer(ms.nn.Cell):
        """Takes tensors one by one, as a compiled cell must."""

        def __init__(self):
            super().__init__()
            self.mean = TokenMean([(2,)], Communicator(0, [0]))

        def construct(self, loss_sum, token_count, gradient):
            return self.mean(loss_sum, token_count, (gradient,))

    return Outer()


def scalar(value: float):
    return ms.Tensor(np.array(value, np.float32))


def test_one_process_divides_by_its_tokens_and_returns_float32(alone):
    loss, tokens, (gradient,) = alone(scalar(6), scalar(4), ms.Tensor(np.array([1, -2], np.float16)))
    assert (float(loss.asnumpy()), float(tokens.asnumpy())) == (1.5, 4.0)
    assert gradient.dtype == ms.float32
    np.testing.assert_array_equal(gradient.asnumpy(), [0.25, -0.5])


def test_no_target_token_gives_zero_and_not_nan(alone):
    loss, tokens, (gradient,) = alone(scalar(0), scalar(0), ms.Tensor(np.zeros(2, np.float16)))
    assert (float(loss.asnumpy()), float(tokens.asnumpy())) == (0.0, 0.0)
    np.testing.assert_array_equal(gradient.asnumpy(), [0, 0])


class OfOneRank(ms.nn.Cell):
    """What one rank adds to the norm: the root of the squares of its pieces."""

    def __init__(self, copies: list[int]):
        super().__init__()
        # These modules import mindspore, which may be missing here.
        from mf_parallel.collectives import Communicator
        from mf_parallel.gradients import PiecewiseNorm

        self.norm = PiecewiseNorm(copies, Communicator(0, [0]))

    def construct(self, embed, piece, norm):
        return self.norm((embed, piece, norm))


def test_whole_tensors_count_once_in_the_norm_of_two_ranks():
    data = Path(__file__).parent / "data"
    gradients, wanted = dict(np.load(data / "c15-grads.npz")), json.loads((data / "c15-expected.json").read_text())

    def over_both_ranks(copies: list[int]) -> float:
        cell = OfOneRank(copies)
        pieces = [(gradients["embed"], gradients[f"w_tp{rank}"], gradients["norm"]) for rank in range(RANKS)]
        return float(np.hypot(*(cell(*map(ms.Tensor, own)).asnumpy() for own in pieces)))

    assert over_both_ranks([2, 1, 2]) == pytest.approx(wanted["global_norm"], rel=1e-6)
    assert over_both_ranks([2, 1, 1]) == pytest.approx(wanted["wrong_replicated_twice"], rel=1e-6)

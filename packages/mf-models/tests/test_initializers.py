"""New weights: their distribution, and that they depend on seed, name and position only."""

import hashlib
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mf_config.layout import Fused, Mesh, Placement, Replicate, Shard, TensorLayout
from mf_config.layout.pieces import gather
from mf_models.families.llama import LlamaConfig
from mf_models.initializers import initial_values, initialize, uniform_values
from mf_models.networks import build, parameters

SHAPE = (7, 5)
Draw = Callable[..., np.ndarray]
TINY = LlamaConfig(hidden_size=16, num_layers=1, num_heads=2, n_kv_heads=1, intermediate_size=24, vocab_size=40)


@settings(max_examples=50, deadline=None)
@given(rows=st.tuples(st.integers(0, 7), st.integers(0, 7)), columns=st.tuples(st.integers(0, 5), st.integers(0, 5)))
def test_a_part_equals_the_slice_of_the_whole(rows: tuple[int, int], columns: tuple[int, int]) -> None:
    part = (slice(*sorted(rows)), slice(*sorted(columns)))
    whole = initial_values("w", SHAPE, 3, 0.5)
    np.testing.assert_array_equal(initial_values("w", SHAPE, 3, 0.5, part), whole[part])


def test_chunks_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = initial_values("w", SHAPE, 3, 0.5)
    monkeypatch.setattr("mf_models.initializers._CHUNK", 11)
    np.testing.assert_array_equal(initial_values("w", SHAPE, 3, 0.5), whole)


def test_values_are_normal() -> None:
    values = initial_values("w", (500, 400), 0, 0.02).astype(np.float64) / 0.02
    # Four standard errors of mean, variance, kurtosis; and the share within one standard deviation.
    assert abs(values.mean()) < 4 / np.sqrt(values.size)
    assert abs(values.var() - 1) < 4 * np.sqrt(2 / values.size)
    assert abs((values**4).mean() - 3) < 4 * np.sqrt(96 / values.size)
    assert abs((np.abs(values) < 1).mean() - 0.682689) < 0.005
    flat = values.reshape(-1)
    assert abs((flat[:-1] * flat[1:]).mean()) < 4 / np.sqrt(values.size)


LAYOUTS: list[tuple[Mesh, tuple[Placement, ...]]] = [
    (Mesh.of(dp=2), (Replicate(),)),
    (Mesh.of(tp=2), (Shard(0, "tp"),)),
    (Mesh.of(dp=2, tp=2), (Shard(1, "tp"),)),
    (Mesh.of(tp=3), (Shard(0, "tp", 2),)),
    (Mesh.of(tp=2), (Fused(0, "tp", (6, 4, 4), 2),)),
    (Mesh.of(ep=2, tp=2), (Shard(0, "ep"), Shard(1, "tp"))),
    (Mesh.of(dp=4, tp=2), (Shard(0, "dp"), Shard(1, "tp", 4))),
]


@pytest.mark.parametrize(("mesh", "placements"), LAYOUTS, ids=str)
@pytest.mark.parametrize("draw", [initial_values, uniform_values])
def test_the_same_weights_arise_under_any_layout(mesh: Mesh, placements: tuple[Placement, ...], draw: Draw) -> None:
    shape = (14, 12)
    layout = TensorLayout(shape, placements)
    pieces = {}
    for rank in range(mesh.size):
        pieces[rank] = np.full(layout.local_shape(mesh, rank), np.nan, np.float32)
        for box in layout.boxes(mesh, rank):
            pieces[rank][box.local] = draw("w", shape, 3, 0.5, box.whole)
    np.testing.assert_array_equal(gather(pieces, layout, mesh), draw("w", shape, 3, 0.5))


def test_even_values_fill_their_range() -> None:
    values = uniform_values("w", (500, 400), 0, 0.25).astype(np.float64) / 0.25
    assert -1 <= values.min() < -0.999 and 0.999 < values.max() <= 1
    # Four standard errors of the mean and of the variance, which is a third.
    assert abs(values.mean()) < 4 / np.sqrt(3 * values.size)
    assert abs(values.var() - 1 / 3) < 4 * np.sqrt(4 / 45 / values.size)


def test_seed_and_name_change_everything() -> None:
    first = initial_values("a", SHAPE, 0, 1.0)
    for other in (initial_values("b", SHAPE, 0, 1.0), initial_values("a", SHAPE, 1, 1.0)):
        assert not np.isin(first, other).any()


def philox(counter: int, key: bytes) -> list[int]:
    """Four 64-bit words of Philox4x64-10. Source: Salmon et al. 2011, section 3.3 and its published constants."""
    mask = 2**64 - 1
    x = [counter, 0, 0, 0]
    k = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]
    for _ in range(10):
        first, second = x[0] * 0xD2E7470EE14C6C93, x[2] * 0xCA5A826395121157
        x = [(second >> 64) ^ x[1] ^ k[0], second & mask, (first >> 64) ^ x[3] ^ k[1], first & mask]
        k = [(k[0] + 0x9E3779B97F4A7C15) & mask, (k[1] + 0xBB67AE8584CAA73B) & mask]
    return x


def test_the_numbers_follow_from_the_published_generator() -> None:
    # Losses of a seed are quoted in reports: another generator would be another release.
    key = hashlib.blake2b(b"1/model.w", digest_size=16).digest()
    words = [word for block in range(3) for word in philox(block + 1, key)]
    expected = []
    for word in words:
        radius = math.sqrt(-2 * math.log(((word >> 32) + 0.5) / 2**32))
        angle = 2 * math.pi * (word & 0xFFFFFFFF) / 2**32
        expected += [radius * math.cos(angle), radius * math.sin(angle)]
    found = initial_values("model.w", (4, 6), 1, 1.0)
    np.testing.assert_allclose(found.reshape(-1), expected, 1e-6)


def test_a_cell_is_filled_by_name() -> None:
    cell = build(TINY)
    initialize(cell, 5)
    for name, parameter in parameters(cell).items():
        found = parameter.asnumpy()
        if found.ndim == 1:
            np.testing.assert_array_equal(found, 1.0)
        else:
            np.testing.assert_array_equal(found, initial_values(name, found.shape, 5, 0.02))

from collections import Counter
from itertools import islice
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_data.rows.permutation import Permutation

MASK = 2**64 - 1


def philox(key: tuple[int, int]):
    """Philox4x64-10 as its paper defines it, from counter 1 on: the numbers in order."""
    counter = 0
    while True:
        counter += 1
        x0, x1, x2, x3 = counter, 0, 0, 0
        k0, k1 = key
        for _ in range(10):
            a, b = 0xD2E7470EE14C6C93 * x0, 0xCA5A826395121157 * x2
            x0, x1, x2, x3 = (b >> 64) ^ x1 ^ k0, b & MASK, (a >> 64) ^ x3 ^ k1, a & MASK
            k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
        yield from (x0, x1, x2, x3)


def mixed(number: int) -> int:
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
    return number ^ number >> 31


def by_hand(place: int, count: int, seed: int, epoch: int) -> int:
    """The same network in Python's own integers: twelve rounds, changing the upper and the lower bits in turn."""
    bits = (count - 1).bit_length()
    low_bits, high_bits = bits // 2, bits - bits // 2
    keys = list(islice(philox((seed, epoch)), 12))
    while True:
        low, high = place % 2**low_bits, place >> low_bits
        for number, key in enumerate(keys):
            if number % 2 == 0:
                high ^= mixed(low ^ key) % 2**high_bits
            else:
                low ^= mixed(high ^ key) % 2**low_bits
        place = high << low_bits | low
        if place < count:
            return place


def order(count: int, seed: int = 1, epoch: int = 0) -> list[int]:
    return Permutation(count, seed, epoch)(np.arange(count)).tolist()


@pytest.mark.golden
@pytest.mark.parametrize(("count", "seed", "epoch"), [(1, 0, 0), (37, 42, 3), (64, 2**64 - 1, 1), (10**12 + 39, 7, 2)])
def test_order_is_that_of_the_network_in_plain_integers(count, seed, epoch):
    places = np.unique(np.linspace(0, count - 1, 23).astype(np.int64))
    expected = [by_hand(int(place), count, seed, epoch) for place in places]
    assert Permutation(count, seed, epoch)(places).tolist() == expected


@pytest.mark.property
@given(count=st.integers(1, 3000), seed=st.integers(0, MASK), epoch=st.integers(0, 2**40))
def test_every_number_comes_once(count, seed, epoch):
    assert sorted(order(count, seed, epoch)) == list(range(count))


@pytest.mark.property
@given(count=st.integers(2**20, 2**62), seed=st.integers(0, MASK), first=st.integers(0, 2**20 - 1000))
def test_different_places_of_a_large_order_hold_different_numbers(count, seed, first):
    found = Permutation(count, seed, 0)(np.arange(first, first + 1000))
    assert len(set(found.tolist())) == 1000
    assert found.min() >= 0
    assert found.max() < count


@pytest.mark.property
@given(count=st.integers(2, 500), seed=st.integers(0, MASK), data=st.data())
def test_a_place_holds_the_same_number_however_it_is_asked_for(count, seed, data):
    places = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=9))
    assert Permutation(count, seed, 5)(np.array(places)).tolist() == [order(count, seed, 5)[p] for p in places]


def test_epochs_have_different_orders_and_seeds_too():
    assert len({tuple(order(20, seed, epoch)) for seed in range(3) for epoch in range(3)}) == 9


@pytest.mark.parametrize(("count", "limit"), [(3, 20.5), (4, 49.7)])
def test_every_order_of_few_things_is_equally_likely(count, limit):
    # Limits: the chi-squared statistic of 3! - 1 and 4! - 1 degrees of freedom exceeds them with probability 0.001.
    found = Counter(tuple(order(count, seed)) for seed in range(4800))
    expected = 4800 / factorial(count)
    assert len(found) == factorial(count)
    assert sum((times - expected) ** 2 / expected for times in found.values()) < limit

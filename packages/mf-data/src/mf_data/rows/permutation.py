"""A random order of any number of things that is computed place by place: nothing is shuffled, nothing is kept.

A Feistel network permutes all numbers of a certain number of bits. Of the numbers from 0 to 2**bits - 1, those below
`count` are brought back among themselves by applying it again until one is reached (cycle walking); fewer than two
rounds are needed on average, since 2**bits is less than twice `count`.

Sources: Luby and Rackoff 1988, How to construct pseudorandom permutations from pseudorandom functions; Black and
Rogaway 2002, Ciphers with arbitrary finite domains, section 3.2 (cycle walking).
"""

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 12
"""Luby and Rackoff need four for large halves; of a few bits each, more are needed until every order comes as often."""

_MULTIPLIER_1, _MULTIPLIER_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
"""Constants of the mixing function of SplitMix64."""


class Permutation:
    """A random order of the numbers from 0 to `count - 1`."""

    def __init__(self, count: int, seed: int, epoch: int):
        """Draws the keys of the network, on which alone the order depends.

        Args:
            count: how many things to order, from 1 to 2**62.
            seed: from 0 to 2**64 - 1.
            epoch: from 0 to 2**64 - 1; each has an order of its own.
        """
        bits = (count - 1).bit_length()
        self._count = np.uint64(count)
        self._bits_low = np.uint64(bits // 2)
        self._mask_low = np.uint64((1 << (bits // 2)) - 1)
        self._mask_high = np.uint64((1 << (bits - bits // 2)) - 1)
        # NumPy promises the raw numbers of this generator for all its versions.
        self._keys = np.random.Philox(key=np.array([seed, epoch], dtype=np.uint64)).random_raw(_ROUNDS)

    def __call__(self, places: NDArray[np.integer]) -> NDArray[np.int64]:
        """The things that stand in some places of the order.

        Args:
            places: int [n], each from 0 to `count - 1`.
        Returns:
            int64 [n], each from 0 to `count - 1`; different places give different things.
        """
        numbers = self._permute(places.astype(np.uint64))
        outside = np.flatnonzero(numbers >= self._count)
        while len(outside):
            numbers[outside] = self._permute(numbers[outside])
            outside = outside[numbers[outside] >= self._count]
        return numbers.astype(np.int64)

    def _permute(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """One pass through the network: each round changes one part of the bits by a function of the other."""
        low, high = numbers & self._mask_low, numbers >> self._bits_low
        for first, second in self._keys.reshape(-1, 2):
            high = high ^ (_mix(low ^ first) & self._mask_high)
            low = low ^ (_mix(high ^ second) & self._mask_low)
        return (high << self._bits_low) | low


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all 64.

    Source: Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators, figure 17 (mix64variant13).
    """
    numbers = (numbers ^ (numbers >> _SHIFT_1)) * _MULTIPLIER_1
    numbers = (numbers ^ (numbers >> _SHIFT_2)) * _MULTIPLIER_2
    return numbers ^ (numbers >> _SHIFT_3)

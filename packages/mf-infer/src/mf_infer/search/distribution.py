"""From logits to the probabilities that a token is drawn with. Legend: V vocabulary."""

import numpy as np
from numpy.typing import NDArray

from mf_infer.sampling_params import SamplingParams

Floats = NDArray[np.float64]


def probabilities(logits_V: Floats, params: SamplingParams) -> Floats:
    """What tokens are drawn with: softmax at the temperature, cut to top_k, top_p, min_p and typical_p in this order.

    Args:
        logits_V: [V], the largest one finite.
        params: temperature above 0.
    Returns:
        [V], sum 1; 0 for the tokens that were cut. Each cut looks at the probabilities that the one before has left.
    """
    # The maximum is taken off first: dividing by a tiny temperature could overflow, a difference of 0 can't.
    with np.errstate(over="ignore"):
        scaled = (logits_V - logits_V.max()) / params.temperature
    weights = np.exp(scaled)
    if 0 < params.top_k < weights.size:
        weights = np.where(_most_likely(logits_V, params.top_k), weights, 0.0)
    shares: Floats = weights / weights.sum()
    if params.top_p < 1:
        shares = nucleus(shares, params.top_p)
    if params.min_p > 0:
        shares = without_unlikely(shares, params.min_p)
    if params.typical_p < 1:
        shares = typical(shares, params.typical_p)
    return shares


def nucleus(shares_V: Floats, top_p: float) -> Floats:
    """Keep the fewest likeliest tokens whose probabilities reach top_p, the one that crosses it included.

    Args:
        shares_V: [V], sum 1.
        top_p: above 0, below 1.
    Returns:
        [V], sum 1 again; of equal tokens those with the lowest ids are kept.
    Source: Holtzman et al. 2020, The Curious Case of Neural Text Degeneration, section 3.1.
    """
    ids = np.flatnonzero(shares_V)
    return _fewest(shares_V, ids[np.argsort(-shares_V[ids], kind="stable")], top_p)


def without_unlikely(shares_V: Floats, min_p: float) -> Floats:
    """Keep the tokens that are at least min_p times as likely as the likeliest.

    Args:
        shares_V: [V], sum 1.
        min_p: 0 to 1.
    Returns:
        [V], sum 1 again.
    Source: Nguyen et al. 2024, Turning Up the Heat: Min-p Sampling, section 3.
    """
    kept = np.where(shares_V >= min_p * shares_V.max(), shares_V, 0.0)
    cut: Floats = kept / kept.sum()
    return cut


def typical(shares_V: Floats, typical_p: float) -> Floats:
    """Keep the fewest tokens that reach typical_p, those first whose surprise is closest to the expected one.

    Args:
        shares_V: [V], sum 1.
        typical_p: above 0, below 1.
    Returns:
        [V], sum 1 again; of equal tokens those with the lowest ids are kept.
    Source: Meister et al. 2023, Locally Typical Sampling, section 3.2.
    """
    ids = np.flatnonzero(shares_V)
    surprise = -np.log(shares_V[ids])
    expected = (shares_V[ids] * surprise).sum()
    return _fewest(shares_V, ids[np.argsort(np.abs(surprise - expected), kind="stable")], typical_p)


def _fewest(shares_V: Floats, order: NDArray[np.intp], mass: float) -> Floats:
    """Keep the first ids of an order whose probabilities reach a mass, and make their sum 1 again."""
    # Only tokens that are left from the cuts before are in the order: sorting them is faster than the vocabulary.
    kept = order[: int(np.searchsorted(np.cumsum(shares_V[order]), mass)) + 1]
    cut: Floats = np.zeros_like(shares_V)
    cut[kept] = shares_V[kept] / shares_V[kept].sum()
    return cut


def _most_likely(logits_V: Floats, count: int) -> NDArray[np.bool_]:
    """Marks exactly `count` tokens (fewer than V) with the largest logits, the lowest ids among equal ones."""
    smallest = np.partition(logits_V, logits_V.size - count)[logits_V.size - count]
    marked: NDArray[np.bool_] = logits_V > smallest
    ties = np.flatnonzero(logits_V == smallest)
    marked[ties[: count - int(marked.sum())]] = True
    return marked

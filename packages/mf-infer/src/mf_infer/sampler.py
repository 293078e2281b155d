"""From logits to a token id, for one request at a time. Legend: V vocabulary."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_infer.sampling_params import SamplingParams

Floats = NDArray[np.float64]


def next_token(
    logits_V: NDArray[np.float32], params: SamplingParams, seen: Collection[int], seed: int, position: int
) -> int:
    """Choose the token that follows.

    Args:
        logits_V: [V], float32 or float64.
        params: settings of the request.
        seen: ids of the prompt and of the answer so far, which the repetition penalty counts.
        seed: of the request.
        position: number of tokens before the one chosen. Seed and position alone fix the random number, so nothing
            that is computed beside the request changes its tokens.
    Returns:
        A token id below V.
    Raises:
        UserError: the logits are not numbers.
    """
    logits = penalize(logits_V.astype(np.float64), seen, params.repetition_penalty)
    # The largest value is NaN where any value is.
    if not np.isfinite(logits.max()):
        raise UserError(
            f"the model's scores for position {position} are not finite numbers. Its weights hold NaN or infinity, or "
            "are too large to compute with."
        )
    if params.temperature == 0:
        return int(logits.argmax())
    return draw(probabilities(logits, params), uniform(seed, position))


def penalize(logits_V: Floats, seen: Collection[int], penalty: float) -> Floats:
    """Make each seen token less likely (more likely where the penalty is below 1), once however often it was seen.

    Args:
        logits_V: [V].
        seen: token ids, each from 0 to V - 1.
        penalty: above 0; 1 changes nothing.
    Returns:
        [V], a copy where anything changes.
    Source: Keskar et al. 2019, CTRL, section 4.1; negative logits are multiplied, since division would raise them.
    """
    if penalty == 1 or not seen:
        return logits_V
    ids = np.fromiter(set(seen), dtype=np.int64)
    penalized = logits_V.copy()
    penalized[ids] = np.where(logits_V[ids] > 0, logits_V[ids] / penalty, logits_V[ids] * penalty)
    return penalized


def probabilities(logits_V: Floats, params: SamplingParams) -> Floats:
    """What tokens are drawn with: softmax at the temperature, cut to top_k, then to top_p.

    Args:
        logits_V: [V], the largest one finite.
        params: temperature above 0.
    Returns:
        [V], sum 1; 0 for the tokens that were cut.
    """
    # The maximum is taken off first: dividing by a tiny temperature could overflow, a difference of 0 can't.
    with np.errstate(over="ignore"):
        scaled = (logits_V - logits_V.max()) / params.temperature
    weights = np.exp(scaled)
    if 0 < params.top_k < weights.size:
        weights = np.where(_most_likely(logits_V, params.top_k), weights, 0.0)
    shares = weights / weights.sum()
    return nucleus(shares, params.top_p) if params.top_p < 1 else shares


def nucleus(shares_V: Floats, top_p: float) -> Floats:
    """Keep the fewest likeliest tokens whose probabilities reach top_p, the one that crosses it included.

    Args:
        shares_V: [V], sum 1.
        top_p: above 0, below 1.
    Returns:
        [V], sum 1 again; of equal tokens those with the lowest ids are kept.
    Source: Holtzman et al. 2020, The Curious Case of Neural Text Degeneration, section 3.1.
    """
    # After top_k few tokens are left: sorting those alone is much faster than sorting the vocabulary.
    ids = np.flatnonzero(shares_V)
    order = ids[np.argsort(-shares_V[ids], kind="stable")]
    kept = order[: int(np.searchsorted(np.cumsum(shares_V[order]), top_p)) + 1]
    cut: Floats = np.zeros_like(shares_V)
    cut[kept] = shares_V[kept] / shares_V[kept].sum()
    return cut


def draw(shares_V: Floats, point: float) -> int:
    """The token in whose share of the unit interval the point lies.

    Args:
        shares_V: [V], sum 1 but for rounding; a token of share 0 is never drawn.
        point: from 0 to below 1.
    """
    sums = np.cumsum(shares_V)
    # The product may round up to the whole sum, behind which no token lies.
    place = min(point * sums[-1], np.nextafter(sums[-1], 0.0))
    return int(np.searchsorted(sums, place, side="right"))


def uniform(seed: int, position: int) -> float:
    """A random number from 0 to below 1 that depends on nothing but its arguments.

    Source: Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3 (Philox).
    """
    return float(np.random.Generator(np.random.Philox(key=seed, counter=position)).random())


def _most_likely(logits_V: Floats, count: int) -> NDArray[np.bool_]:
    """Marks exactly `count` tokens (fewer than V) with the largest logits, the lowest ids among equal ones."""
    smallest = np.partition(logits_V, logits_V.size - count)[logits_V.size - count]
    marked: NDArray[np.bool_] = logits_V > smallest
    ties = np.flatnonzero(logits_V == smallest)
    marked[ties[: count - int(marked.sum())]] = True
    return marked

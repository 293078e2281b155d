"""From the logits of a position to a token id. Legend: V vocabulary."""

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_infer.sampling_params import SamplingParams
from mf_infer.search.distribution import Floats, probabilities


def checked(logits_V: NDArray[np.float32], position: int) -> Floats:
    """The logits in float64.

    Args:
        logits_V: [V], as the model gives them.
        position: number of tokens before, for the message.
    Raises:
        UserError: they are not numbers.
    """
    logits = logits_V.astype(np.float64)
    # The largest value is NaN where any value is.
    if not np.isfinite(logits.max()):
        raise UserError(
            f"the model's scores for position {position} are not finite numbers. Its weights hold NaN or infinity, or "
            "are too large to compute with."
        )
    return logits


def choose(logits_V: Floats, params: SamplingParams, point: float) -> int:
    """Choose the token that follows.

    Args:
        logits_V: [V], the largest one finite.
        params: settings of the request.
        point: a random number from 0 to below 1; not looked at where the temperature is 0.
    Returns:
        A token id below V.
    """
    if params.temperature == 0:
        return int(logits_V.argmax())
    return draw(probabilities(logits_V, params), point)


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


def uniform(seed: int, position: int, answer: int = 0) -> float:
    """A random number from 0 to below 1 that depends on nothing but its arguments.

    So nothing that is computed beside a request changes its tokens.

    Args:
        seed: of the request, 0 to 2^64 - 1.
        position: number of tokens before the one that is drawn.
        answer: which of the request's answers it is for, 0 to 2^64 - 1.
    Source: Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3 (Philox).
    """
    return float(np.random.Generator(np.random.Philox(key=seed + (answer << 64), counter=position)).random())

"""Log-probabilities of tokens. Legend: V vocabulary."""

import numpy as np

from mf_infer.outputs import TokenLogprobs
from mf_infer.search.distribution import Floats


def log_softmax(logits_V: Floats) -> Floats:
    """Natural logarithms of the probabilities, [V]."""
    shifted = logits_V - logits_V.max()
    logprobs_V: Floats = shifted - np.log(np.exp(shifted).sum())
    return logprobs_V


def token_logprobs(logprobs_V: Floats, token_id: int, count: int) -> TokenLogprobs:
    """What to tell of one token.

    Args:
        logprobs_V: [V].
        token_id: the token.
        count: how many of the likeliest tokens to name; of equal ones those with the lowest ids.
    """
    count = min(count, logprobs_V.size)
    likeliest = np.argpartition(-logprobs_V, count - 1)[:count] if count else np.empty(0, np.intp)
    if count and count < logprobs_V.size:
        # argpartition takes any of equal values.
        likeliest = np.flatnonzero(logprobs_V >= logprobs_V[likeliest].min())
    order = likeliest[np.lexsort((likeliest, -logprobs_V[likeliest]))][:count]
    top = tuple((int(i), float(logprobs_V[i])) for i in order)
    return TokenLogprobs(token_id, float(logprobs_V[token_id]), top)

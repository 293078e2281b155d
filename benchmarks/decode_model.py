"""The model and the prompts that the decoding benchmarks measure, and what a copy in memory reaches."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

SIZES = {"vocab_size": 49152, "hidden_size": 576, "num_layers": 30, "num_heads": 9, "n_kv_heads": 3}
"""SmolLM2-135M."""

INTERMEDIATE_SIZE, MAX_LENGTH, EPSILON, THETA = 1536, 2048, 1e-5, 10000.0
HEAD_DIM = SIZES["hidden_size"] // SIZES["num_heads"]
NEW_TOKENS = 64
THREADS = 2
_COPIED_BYTES = 256_000_000


def prompts(batch: int, context: int, number: int) -> list[list[int]]:
    """Random tokens of a round, the same for all programs; others in each, so that no program has seen them before."""
    ids: list[list[int]] = np.random.default_rng(number).integers(5, SIZES["vocab_size"], (batch, context)).tolist()
    return ids


def answer(
    first_s: float, tokens_s: float, tokens: Sequence[Sequence[int]], weight_bytes: int, versions: Mapping[str, str]
) -> None:
    """Print a round.

    Args:
        first_s: seconds to the first token of all rows.
        tokens_s: seconds for the `NEW_TOKENS` after it.
        tokens: the tokens of each row.
        weight_bytes: what has to be read for one token.
        versions: of the libraries.
    """
    token_s = tokens_s / NEW_TOKENS
    measures = {"first_token_s": first_s, "token_s": token_s, "share_of_copy": weight_bytes / token_s / copy_rate()}
    result: dict[str, Any] = {"measures": measures, "result": [list(row) for row in tokens], "versions": dict(versions)}
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


def copy_rate() -> float:
    """Bytes a second that a copy moves, those that it reads and those that it writes."""
    source = np.ones(_COPIED_BYTES // THREADS, np.int8)
    pairs = [(np.empty_like(source), source.copy()) for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda pair: np.copyto(*pair), pairs))
        begin = time.perf_counter()
        list(pool.map(lambda pair: np.copyto(*pair), pairs))
        return 2 * _COPIED_BYTES / (time.perf_counter() - begin)

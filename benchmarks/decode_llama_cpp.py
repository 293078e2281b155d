"""A peer of the decoding benchmark: llama.cpp through the C interface of its Python package, all rows in one batch."""

import ctypes
import sys
import time
from pathlib import Path

import llama_cpp
import numpy as np
from decode_model import NEW_TOKENS, SIZES, THREADS, answer, prompts

_MOST_TOKENS = 4096
"""Of one call."""


def main(kind: str, folder: Path, batch: int, context: int) -> None:
    """Answer rounds."""
    quiet = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
    llama_cpp.llama_backend_init()
    file = folder / f"{kind}.gguf"
    settings = llama_cpp.llama_model_default_params()
    # They are for the processor's unit for tiles, whose instructions end the process on some virtual machines.
    settings.use_extra_bufts = False
    model = llama_cpp.llama_model_load_from_file(str(file).encode(), settings)
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = (context + 2 * NEW_TOKENS) * batch
    params.n_batch = _MOST_TOKENS
    params.n_threads = params.n_threads_batch = THREADS
    params.n_seq_max = batch
    state = llama_cpp.llama_init_from_model(model, params)
    assert state, "llama.cpp can't open the model"
    for number, _ in enumerate(sys.stdin):
        rows = prompts(batch, context, number)
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(state), True)
        begin = time.perf_counter()
        tokens = [[best] for best in _decode(state, rows, 0)]
        first = time.perf_counter()
        for done in range(NEW_TOKENS):
            found = _decode(state, [row[-1:] for row in tokens], context + done)
            tokens = [[*row, best] for row, best in zip(tokens, found, strict=True)]
        end = time.perf_counter()
        versions = {"llama-cpp-python": llama_cpp.__version__}
        answer(first - begin, end - first, [row[:NEW_TOKENS] for row in tokens], file.stat().st_size, versions)


def _decode(state: object, rows: list[list[int]], start: int) -> list[int]:
    """Put the tokens of all rows behind `start` others; returns the likeliest one after each row."""
    batch = llama_cpp.llama_batch_init(sum(map(len, rows)), 0, 1)
    for sequence, row in enumerate(rows):
        for number, token in enumerate(row):
            at = batch.n_tokens
            batch.token[at], batch.pos[at] = token, start + number
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, sequence
            batch.logits[at] = number + 1 == len(row)
            batch.n_tokens += 1
    assert llama_cpp.llama_decode(state, batch) == 0, "llama.cpp can't compute the batch"
    ends = np.cumsum([len(row) for row in rows]) - 1
    logits = [llama_cpp.llama_get_logits_ith(state, int(end)) for end in ends]
    best = [int(np.ctypeslib.as_array(one, (SIZES["vocab_size"],)).argmax()) for one in logits]
    llama_cpp.llama_batch_free(batch)
    return best


main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))

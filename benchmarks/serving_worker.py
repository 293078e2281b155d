"""Both sides of the serving benchmark: `16-at-a-time|1-at-a-time|known|new FOLDER` answers rounds."""

import itertools
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from decode_model import SIZES

from mf_infer import LLM, LoadOptions, SamplingParams
from mf_models.threads import sleep_while_waiting

REQUESTS, PROMPT, ANSWER = 16, 64, 32
SHARED, OWN = 512, 16


def tokens(round_number: int, part: int, count: int) -> list[int]:
    """Random tokens, the same in both programs."""
    ids: list[int] = np.random.default_rng([round_number, part]).integers(5, SIZES["vocab_size"], count).tolist()
    return ids


def answer_all(llm: LLM, round_number: int) -> tuple[dict[str, float], Any]:
    """Answer all requests; prompts are new in each round, so that no part of them is in the cache."""
    prompts = [{"prompt_token_ids": tokens(round_number, part, PROMPT)} for part in range(REQUESTS)]
    params = SamplingParams(temperature=0, max_tokens=ANSWER, ignore_eos=True)
    begin = time.perf_counter()
    outputs = llm.generate(prompts, params)
    seconds = time.perf_counter() - begin
    return {"all_s": seconds}, [output.outputs[0].token_ids for output in outputs]


def answer_first(llm: LLM, round_number: int, is_known: bool) -> tuple[dict[str, float], Any]:
    """The first token of a prompt, whose beginning another request had before where it is to be known."""
    params = SamplingParams(temperature=0, max_tokens=1, ignore_eos=True)
    shared, *endings = (tokens(round_number, part, count) for part, count in enumerate((SHARED, OWN, OWN)))
    before = shared if is_known else tokens(round_number, len(endings) + 1, SHARED)
    llm.generate({"prompt_token_ids": before + endings[0]}, params)
    begin = time.perf_counter()
    (output,) = llm.generate({"prompt_token_ids": shared + endings[1]}, params)
    seconds = time.perf_counter() - begin
    assert output.reused_tokens == (SHARED if is_known else 0)
    return {"first_token_s": seconds}, output.outputs[0].token_ids


def main(what: str, folder: Path) -> None:
    """Answer rounds."""
    rows = REQUESTS if what == "16-at-a-time" else 1
    llm = LLM(folder / "mf", options=LoadOptions(max_batch_size=rows))
    versions = {name: version(name) for name in ("mindspore", "mf-infer")}
    for number in itertools.count():
        if not sys.stdin.readline():
            return
        at_a_time = what.endswith("at-a-time")
        measures, result = answer_all(llm, number) if at_a_time else answer_first(llm, number, what == "known")
        sys.stdout.write(json.dumps({"measures": measures, "result": result, "versions": versions}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    # Before MindSpore is loaded, whose threads read it.
    sleep_while_waiting()
    main(sys.argv[1], Path(sys.argv[2]))

"""A side of the int8 benchmark: `int8|float32|kept|expanded MODEL` answers rounds."""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from decode_model import prompts

from mf_infer import LLM, LoadOptions, SamplingParams
from mf_models.threads import sleep_while_waiting

NEW_TOKENS, CONTEXT, ROWS = 32, 64, (1, 8)
TEXT = Path(__file__).parents[1] / "packages" / "mf-infer" / "LICENSE"
_TEXT_CHARACTERS = 6500


def token_s(llm: LLM, rows: int, number: int) -> tuple[float, list[list[int]]]:
    """Seconds for one more token of each row, and the tokens."""
    params = SamplingParams(temperature=0, max_tokens=NEW_TOKENS + 4 * rows, ignore_eos=True)
    requests = [llm.request({"prompt_token_ids": ids}, params) for ids in prompts(rows, CONTEXT, number)]
    tokens: dict[str, list[int]] = {request.id: [] for request in requests}

    def step() -> None:
        for piece in llm.engine.step():
            tokens[piece.request_id] += piece.token_ids

    for request in requests:
        llm.engine.add_request(request)
    while not all(tokens.values()):
        step()
    begin = time.perf_counter()
    for _ in range(NEW_TOKENS):
        step()
    seconds = time.perf_counter() - begin
    for request in requests:
        llm.engine.abort(request.id)
    while llm.engine.has_work:
        llm.engine.step()
    return seconds / NEW_TOKENS, list(tokens.values())


def perplexity(llm: LLM) -> float | None:
    """Of a text that lies beside the program; None where the model has no tokenizer, so that nothing was learnt."""
    if llm.tokenizer is None:
        return None
    text = TEXT.read_text(encoding="utf-8")[:_TEXT_CHARACTERS]
    (output,) = llm.generate(text, SamplingParams(max_tokens=0, prompt_logprobs=0))
    assert output.prompt_logprobs is not None
    found = [record.logprob for record in output.prompt_logprobs if record is not None]
    return float(np.exp(-np.mean(found)))


def main(side: str, model: Path) -> None:
    """Answer rounds."""
    options = LoadOptions(max_batch_size=max(ROWS), weight_type="int8" if side == "int8" else "float32")
    llm = LLM(model, options=options)
    fixed: dict[str, Any] = {"weights_mb": llm.weight_bytes / 1e6}
    if (found := perplexity(llm)) is not None:
        fixed["perplexity"] = found
    versions = {name: version(name) for name in ("mindspore", "mf-infer")}
    for number, _ in enumerate(sys.stdin):
        timed = {rows: token_s(llm, rows, number) for rows in ROWS}
        measures = {f"token_s_{rows}": seconds for rows, (seconds, _) in timed.items()} | fixed
        result = [row for _, tokens in timed.values() for row in tokens]
        sys.stdout.write(json.dumps({"measures": measures, "result": result, "versions": versions}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    # Before MindSpore is loaded, whose threads read it.
    sleep_while_waiting()
    main(sys.argv[1], Path(sys.argv[2]))

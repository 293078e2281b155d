"""`mf-data tokenize`."""

import json
import sys
import time
from argparse import Namespace
from pathlib import Path

from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_data.indexed.files import smallest_dtype
from mf_data.texts.records import MOST_PROBLEMS
from mf_data.tokenizers.loading import load_tokenizer
from mf_data.tokenizing.corpus_tokenizing import tokenize_corpus
from mf_data.tokenizing.tokenize_plan import TokenizePlan

_SECONDS_BETWEEN = 0.5
_MEGABYTE = 1_000_000


def run(parsed: Namespace) -> int:
    """Tokenize the inputs."""
    if parsed.workers < 1:
        raise UserError(f"--workers: {parsed.workers} is out of range. Allowed: from 1.")
    plan = TokenizePlan(
        inputs=tuple(parsed.input),
        tokenizer=str(Path(parsed.tokenizer)),
        dtype=smallest_dtype(load_tokenizer(parsed.tokenizer).vocab_size).name,
        text_field=parsed.text_field,
        on_broken=parsed.on_broken,
        end_token=not parsed.no_end_token,
    )
    meter = _Meter()
    made = tokenize_corpus(plan, parsed.output, parsed.workers, meter.show)
    meter.clear()
    for line in made.skipped[:MOST_PROBLEMS]:
        print(line, file=sys.stderr)
    if made.skipped:
        print(f"{len(made.skipped)} broken records were skipped", file=sys.stderr)
    if parsed.json:
        result = {"output": parsed.output, "documents": made.documents, "tokens": made.tokens, "dtype": plan.dtype}
        counts = {"text_bytes": made.text_bytes, "skipped": len(made.skipped), "seconds": round(meter.seconds(), 2)}
        print(json.dumps({**result, **counts}))
    else:
        print(
            f"{parsed.output}: {made.documents} documents, {made.tokens} tokens of {plan.dtype}, "
            f"{made.text_bytes / made.tokens:.2f} bytes of text a token, in {meter.seconds():.1f} s"
        )
    return OK


class _Meter:
    """Shows on a terminal how much text is done."""

    def __init__(self) -> None:
        self._started = self._shown = time.perf_counter()

    def seconds(self) -> float:
        """Time since the beginning."""
        return time.perf_counter() - self._started

    def show(self, done: int) -> None:
        """Tell how many bytes of text are done, not too often."""
        now = time.perf_counter()
        if sys.stderr.isatty() and now - self._shown > _SECONDS_BETWEEN:
            self._shown = now
            rate = done / _MEGABYTE / self.seconds()
            print(f"\r{done / _MEGABYTE:.1f} MB of text, {rate:.1f} MB/s ", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Leave an empty line."""
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)

"""A peer of the decoding benchmark: `generate` of Hugging Face transformers, eager or compiled with a static cache."""

import sys
import time
from pathlib import Path
from typing import Any

import torch
import transformers
from decode_model import NEW_TOKENS, THREADS, answer, prompts


def main(mode: str, folder: Path, batch: int, context: int) -> None:
    """Answer rounds."""
    torch.set_num_threads(THREADS)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "weights", dtype=torch.float32).eval()
    weight_bytes = sum(one.numel() * one.element_size() for one in model.parameters())
    options: dict[str, Any] = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    if mode == "compile":
        options["cache_implementation"] = "static"
        model.forward = torch.compile(model.forward, dynamic=False)
    for number, _ in enumerate(sys.stdin):
        ids = torch.tensor(prompts(batch, context, number))
        times: list[float] = []

        def note(ids: torch.Tensor, scores: Any, times: list[float] = times, **_: Any) -> torch.Tensor:
            times.append(time.perf_counter())
            return torch.zeros(len(ids), dtype=torch.bool)

        begin = time.perf_counter()
        with torch.inference_mode():
            out = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=NEW_TOKENS + 1,
                stopping_criteria=transformers.StoppingCriteriaList([note]),
                **options,
            )
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        tokens = out[:, context : context + NEW_TOKENS].tolist()
        answer(times[0] - begin, times[-1] - times[0], tokens, weight_bytes, versions)


main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))

"""The peer's side of the training benchmark: Hugging Face transformers, eager or compiled, with torch's fused AdamW."""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
import transformers
from train_model import BETAS, DECAY, EPSILON, LEARNING_RATE, MAX_NORM


def main(mode: str, folder: Path) -> None:
    """Answer rounds."""
    torch.set_num_threads(2)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "weights", dtype=torch.float32, use_cache=False)
    model.train()
    run = torch.compile(model) if mode == "compile" else model
    groups = [
        {"params": [one for one in model.parameters() if one.dim() > 1], "weight_decay": DECAY},
        {"params": [one for one in model.parameters() if one.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, LEARNING_RATE, BETAS, EPSILON, fused=True)
    saved = np.load(folder / "batches.npz")
    batches = [
        (torch.from_numpy(ids).long(), torch.from_numpy(labels).long())
        for ids, labels in zip(saved["ids"], saved["labels"], strict=True)
    ]
    for _ in sys.stdin:
        begin = time.perf_counter()
        for ids, labels in batches:
            logits = run(input_ids=ids).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        last = loss.item()
        seconds = (time.perf_counter() - begin) / len(batches)
        answer = {
            "measures": {"step_s": seconds},
            "result": last,
            "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main(sys.argv[1], Path(sys.argv[2]))

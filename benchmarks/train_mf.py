"""mf's side of the training benchmark: `prepare SIZE FOLDER` writes weights and batches, `run SIZE FOLDER` trains."""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from train_model import BATCHES, LEARNING_RATE, run_configuration

import mf_ckpt
from mf_config import decode, load
from mf_models.threads import sleep_while_waiting


def main(what: str, size: str, folder: Path) -> None:
    """Prepare, or answer rounds."""
    # Before MindSpore is loaded, whose threads read it.
    sleep_while_waiting()
    from mf_train.assemble import Job
    from mf_train.start import start_process

    file = folder / "run.yaml"
    file.write_text(run_configuration(size, folder), encoding="utf-8")
    config = decode(load(str(file)))
    job = Job(config, start_process(config))
    batches = [job.examples(step) for step in range(BATCHES[size])]
    if what == "prepare":
        from mf_models.weights import to_checkpoint_names

        model_config = config.model.model_config
        with mf_ckpt.Writer(folder / "mf") as writer:
            for name, array in to_checkpoint_names(model_config, job.model):
                writer.add(name, array)
            writer.add_json("config.json", model_config.to_hf())
        mf_ckpt.export(folder / "mf", folder / "weights")
        np.savez(
            folder / "batches.npz", ids=[one.input_ids_BT for one in batches], labels=[one.labels_BT for one in batches]
        )
        return
    update = 0
    for _ in sys.stdin:
        begin = time.perf_counter()
        for batch in batches:
            update += 1
            outcome = job.step(batch, scale=1.0, number=update, learning_rate=LEARNING_RATE)
        seconds = (time.perf_counter() - begin) / len(batches)
        answer = {
            "measures": {"step_s": seconds},
            "result": outcome.loss,
            "versions": {name: version(name) for name in ("mindspore", "mf-train")},
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

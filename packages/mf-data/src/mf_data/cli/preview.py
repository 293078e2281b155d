"""`mf-data preview`."""

import os
import sys
from argparse import Namespace
from typing import Any

import numpy as np

from mf_config import RunConfig, decode, load
from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_config.sections.dataset import DatasetSection
from mf_data.files import write_atomically
from mf_data.opening import open_dataset, open_tokenizer
from mf_data.preview.page import as_page
from mf_data.preview.samples import samples
from mf_data.preview.terminal import as_text
from mf_data.reading.batches import Batches
from mf_data.rows.settings import RowSettings


def run(parsed: Namespace) -> int:
    """Show the first rows that a run reads, in its order."""
    if parsed.count < 1 or parsed.first < 0:
        raise UserError("-n or --from is out of range. Allowed: -n from 1, --from from 0.")
    config = decode(load(parsed.config, parsed.overrides))
    name = "eval_dataset" if parsed.eval else "train_dataset"
    section: DatasetSection | None = getattr(config, name)
    task = getattr(config, f"{name}_task")
    if section is None or task is None:
        raise UserError(f"{parsed.config}: {name} or {name}_task is missing. Allowed: a file with both.")
    tokenizer_section = section.tokenizer or config.tokenizer
    if tokenizer_section is None:
        raise UserError(f"{parsed.config}: has no tokenizer. Allowed: one in {name} or in processor.")
    loader = section.data_loader
    tokenizer = open_tokenizer(tokenizer_section, None if parsed.eval else loader)
    seq_length = _seq_length(config) if parsed.seq_length is None else parsed.seq_length
    rows = open_dataset(loader, task, tokenizer, seq_length, settings=RowSettings.of(section))
    batches = Batches(
        rows,
        global_batch_size=1,
        seed=config.seed if section.seed is None else section.seed,
        shuffle=not parsed.eval and loader.shuffle,
    )
    steps = range(parsed.first, min(parsed.first + parsed.count, batches.steps_per_epoch))
    indices = np.array([batches.row_indices(step)[0] for step in steps], np.int64)
    shown = samples(rows, indices, tokenizer)
    if parsed.html is not None:
        write_atomically(parsed.html, as_page(f"{name} of {parsed.config}: {len(rows)} rows", shown).encode())
        print(f"{parsed.html}: {len(indices)} of {len(rows)} rows")
        return OK
    colour = _colour(parsed.color)
    for sample in shown:
        print(as_text(sample, colour=colour))
    print(f"{len(indices)} of {len(rows)} rows; what the loss counts is {'green' if colour else 'in «»'}")
    return OK


def _seq_length(config: RunConfig) -> int:
    """Tokens of a row by the model's section.

    Raises:
        UserError: the section is not read, since no package with models is installed.
    """
    section: Any = config.model.model_config
    if section is None:
        raise UserError("--seq-length: is needed where mf-models is not installed. Allowed: an integer from 1.")
    seq_length: int = section.seq_length
    return seq_length


def _colour(choice: str) -> bool:
    """Whether to use colours; a terminal shows them unless the variable NO_COLOR is set."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")

"""Opens the model that a command line names."""

import argparse
import os

from mf_infer.llm import LLM
from mf_infer.load_options import LoadOptions
from mf_infer.loading.run_file import read_run_file
from mf_infer.processes.followers import ERRORS_ONLY


def open_model(parsed: argparse.Namespace) -> LLM:
    """Load the model as the person wants it to be loaded."""
    # MindSpore reads it when it is loaded.
    os.environ.setdefault("GLOG_v", ERRORS_ONLY)
    options = LoadOptions(
        adapter=parsed.adapter,
        weight_type=parsed.weights,
        max_batch_size=parsed.batch_size,
        num_blocks=parsed.num_blocks,
        tensor_parallel=parsed.tensor_parallel,
    )
    config, tokenizer = read_run_file(parsed.config) if parsed.config else (None, None)
    return LLM(parsed.model, config=config, tokenizer=tokenizer, options=options)

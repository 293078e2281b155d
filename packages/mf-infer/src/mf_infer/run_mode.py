"""Run mode `predict` of a run configuration."""

import json
from pathlib import Path
from typing import Protocol

from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_config.sections.run import RunConfig
from mf_data.files import write_atomically
from mf_data.opening import open_tokenizer
from mf_infer.cli.text import print_stream, print_title
from mf_infer.llm import LLM

PREDICTIONS = "predictions.jsonl"


class PredictOptions(Protocol):
    """What predictions read of the command line's options."""

    @property
    def json(self) -> bool:
        """Whether JSON is printed instead of text."""


def predict(config: RunConfig, options: PredictOptions) -> int:
    """Answer the prompts of `input_data` with the model of `load_checkpoint`, or of output_dir's newest checkpoint.

    Prints each answer and writes `output_dir/predictions.jsonl`, one object a prompt: prompt, text, token_ids,
    finish_reason, tokens_per_second. The network is the one of `model.model_config`, with its generation keys; the
    tokenizer is that of `processor`, or the checkpoint's where it has none; `seed` makes drawn tokens the same in each
    run.

    Args:
        config: the run configuration.
        options: `json` prints the objects instead of the text.
    Returns:
        The exit status.
    Raises:
        UserError: there is no prompt or no checkpoint, or the checkpoint does not fit the configuration.
    """
    if not config.prompts:
        raise UserError("input_data: is missing, so nothing can be predicted. Allowed: a prompt, or a list of prompts.")
    section = config.tokenizer
    llm = LLM(
        config.load_checkpoint or config.output_dir,
        config=config.model.model_config,
        tokenizer=open_tokenizer(section, None) if section else None,
        context=config.context,
    )
    settings = [llm.default_params(prompt, seed=config.seed) for prompt in config.prompts]
    outputs = llm.generate(config.prompts, settings)
    lines = [json.dumps(output.as_json(), ensure_ascii=False) for output in outputs]
    write_atomically(Path(config.output_dir) / PREDICTIONS, "".join(f"{line}\n" for line in lines).encode())
    for number, (output, line) in enumerate(zip(outputs, lines, strict=True), 1):
        if options.json:
            print_stream([line])
        else:
            print_title(number, output.prompt or "")
            print_stream([output.outputs[0].text])
    return OK

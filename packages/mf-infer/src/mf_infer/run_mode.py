"""Run mode `predict` of a run configuration."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from mf_config.command_line import OK
from mf_config.problems import UserError
from mf_config.sections.run import RunConfig
from mf_data.files import write_atomically
from mf_data.opening import open_tokenizer
from mf_infer.cli.text import print_stream, print_title
from mf_infer.llm import LLM
from mf_infer.outputs import RequestOutput
from mf_infer.request import Request
from mf_infer.streams import streams

PREDICTIONS = "predictions.jsonl"
RESULT = "text_generation_result.txt"
"""MindFormers' name of the result of a task, without `save_file`."""


class PredictOptions(Protocol):
    """What predictions read of the command line's options."""

    @property
    def json(self) -> bool:
        """Whether JSON is printed instead of text."""


def predict(config: RunConfig, options: PredictOptions) -> int:
    """Answer the prompts of `input_data` with the model of `load_checkpoint`, or of output_dir's newest checkpoint.

    A network that finds classes gives a class of each text instead, see `predict_classes`.

    Prints each answer as it comes and writes `output_dir/predictions.jsonl`, one object a prompt: prompt, text,
    token_ids, finish_reason, tokens_per_second; and the same texts as MindFormers writes them to `save_file`, or to
    `output_dir/text_generation_result.txt`. The network is the one of `model.model_config`, with its generation keys;
    the tokenizer is that of `processor`, or the checkpoint's where it has none; `seed` makes drawn tokens the same in
    each run.

    Args:
        config: the run configuration.
        options: `json` prints the objects instead of the text.
    Returns:
        The exit status.
    Raises:
        UserError: there is no prompt or no checkpoint, or the checkpoint does not fit the configuration.
    """
    prompts = list(read_prompts(config.prompts))
    if not prompts:
        raise UserError("input_data: is missing, so nothing can be predicted. Allowed: a prompt, or a list of prompts.")
    if config.model.model_config.num_labels is not None:
        return predict_classes(config, options, prompts)
    section = config.tokenizer
    llm = LLM(
        config.load_checkpoint or config.output_dir,
        config=config.model.model_config,
        tokenizer=open_tokenizer(section, None) if section else None,
        context=config.context,
    )
    requests = [llm.request(prompt, llm.default_params(prompt, seed=config.seed)) for prompt in prompts]
    outputs = _print_answers(llm, prompts, requests, options.json)
    predictions = "".join(f"{_as_line(output)}\n" for output in outputs)
    write_atomically(Path(config.output_dir) / PREDICTIONS, predictions.encode())
    result = Path(config.save_file) if config.save_file else Path(config.output_dir) / RESULT
    write_atomically(result, as_result(outputs).encode())
    return OK


def predict_classes(config: RunConfig, options: PredictOptions, texts: Sequence[str]) -> int:
    """Find the class of each text.

    Prints it and writes `output_dir/predictions.jsonl`, and `save_file` where it is given: one object a text with
    prompt, label, score, which is the probability of the label, and scores, those of all classes.

    Args:
        config: the run configuration.
        options: as for `predict`.
        texts: the texts.
    Returns:
        The exit status.
    Raises:
        UserError: there is no checkpoint, or it does not fit the configuration.
    """
    # Here, because MindSpore need not be there for mistakes in prompts.
    from mf_infer.classifier import Classifier

    section = config.tokenizer
    classifier = Classifier(
        config.load_checkpoint or config.output_dir,
        config=config.model.model_config,
        tokenizer=open_tokenizer(section, None) if section else None,
        context=config.context,
    )
    found = classifier.classify(texts)
    lines = [json.dumps(each.as_json(), ensure_ascii=False) for each in found]
    for path in (Path(config.output_dir) / PREDICTIONS, *([Path(config.save_file)] if config.save_file else [])):
        write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    for number, (each, line) in enumerate(zip(found, lines, strict=True), 1):
        if options.json:
            print_stream([line])
        else:
            print_title(number, each.text)
            print_stream([f"class {each.label} ({each.probabilities[each.label]:.3f})"])
    return OK


def read_prompts(given: Iterable[str]) -> Iterator[str]:
    r"""The prompts that `input_data` means.

    Args:
        given: texts, in which `\n` stands for the end of a line, and names of text files with one prompt a line.
    Raises:
        UserError: a file is no text.
    """
    for text in given:
        if not _is_file(text):
            yield text.replace("\\n", "\n")
            continue
        try:
            lines = Path(text).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"input_data: {text}: can't be read: {error}.") from error
        yield from (line.replace("\\n", "\n") for line in lines if line.strip())


def as_result(outputs: Sequence[RequestOutput]) -> str:
    """What MindFormers writes: a list in Python's own form, with the text of prompt and answer for each prompt."""
    texts = [{"text_generation_text": [f"{output.prompt}{output.outputs[0].text}"]} for output in outputs]
    return f"{texts}\n"


def _print_answers(llm: LLM, prompts: Sequence[str], requests: Sequence[Request], as_json: bool) -> list[RequestOutput]:
    """Print the answers as they come, in the order of their prompts; returns them."""
    outputs: list[RequestOutput] = []
    for prompt, request, pieces in zip(prompts, requests, streams(llm.engine, requests), strict=True):
        if as_json:
            for _ in pieces:
                pass
            print_stream([_as_line(request.output(prompt))])
        else:
            print_title(len(outputs) + 1, prompt)
            print_stream(pieces)
        outputs.append(request.output(prompt))
    return outputs


def _as_line(output: RequestOutput) -> str:
    return json.dumps(output.as_json(), ensure_ascii=False)


def _is_file(text: str) -> bool:
    """Whether a text is the name of a file; a long prompt is no name at all."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False

"""Many prompts from a file, answers to a file, which a second start completes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mf_config.problems import ConfigError, Location, Problem, UserError
from mf_infer.llm import LLM
from mf_infer.prompts import Prompt
from mf_infer.sampling_params import SamplingParams

Progress = Callable[[int, int], None]
"""Called with the answers that are done, and with their number when all are."""

_PROMPTS = ("prompt", "prompt_token_ids", "messages")
_SETTINGS = frozenset(SamplingParams.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Job:
    """One line of the input.

    Attributes:
        line: its number in the file, from 1, by which its answer is known.
        content: the object of the line: a `prompt`, `prompt_token_ids` or `messages`, and settings by their names in
            `SamplingParams`; anything else is copied to the answer.
    """

    line: int
    content: Mapping[str, Any]

    def prompt(self, llm: LLM) -> Prompt:
        """The prompt, of which messages are written by the model's chat template."""
        if "messages" in self.content:
            return llm.chat_prompt(self.content["messages"])
        if "prompt_token_ids" in self.content:
            return {"prompt_token_ids": self.content["prompt_token_ids"]}
        return str(self.content["prompt"])

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of this prompt alone."""
        return {name: value for name, value in self.content.items() if name in _SETTINGS}

    @property
    def copied(self) -> dict[str, Any]:
        """What the answer's line begins with."""
        others = self.content.keys() - _SETTINGS - set(_PROMPTS)
        return {"line": self.line, **{name: self.content[name] for name in self.content if name in others}}


def read_jobs(file: Path) -> list[Job]:
    """Read a file with one JSON object a line; empty lines are left out.

    Raises:
        UserError: the file can't be read, or a line is no object with exactly one prompt; every such line is named.
    """
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: can't be read: {error}.") from error
    jobs, problems = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        content = _object(line)
        if content is None or len(content.keys() & set(_PROMPTS)) != 1:
            allowed = f"a JSON object with one of {', '.join(_PROMPTS)}"
            problems.append(Problem(Location(str(file), number), "", "no prompt can be read", allowed))
        else:
            jobs.append(Job(number, content))
    if problems:
        raise ConfigError(problems)
    return jobs


def answered(file: Path) -> set[int]:
    """The lines of the input that an output file answers already; a last line that was cut off is removed."""
    if not file.is_file():
        return set()
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with file.open("r+b") as stream:
            stream.truncate(len(whole))
    found = [_object(line) for line in whole.decode("utf-8", "replace").splitlines()]
    numbers = [entry.get("line") if entry else None for entry in found]
    if not all(isinstance(number, int) for number in numbers):
        raise UserError(f"{file}: is no output of this command, so it is not added to. Allowed: a new file.")
    return {number for number in numbers if isinstance(number, int)}


def run_batch(llm: LLM, jobs: Sequence[Job], given: Mapping[str, Any], output: Path, progress: Progress) -> int:
    """Answer jobs; each answer is in the file as soon as it has ended, in the order in which they end.

    Args:
        llm: the model.
        jobs: those that have no answer yet.
        given: settings of all of them; a job's own ones win.
        output: answers are appended to it, one JSON object a line.
        progress: told of each answer.
    Returns:
        Prompts that could not be answered; their lines have an `error` in place of an answer.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    failed = 0
    with output.open("a", encoding="utf-8") as stream:
        for count, line in enumerate(_answers(llm, jobs, given), 1):
            failed += "error" in line
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            progress(count, len(jobs))
    return failed


def _answers(llm: LLM, jobs: Sequence[Job], given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The line of each job, when it has ended."""
    running = {}
    for job in jobs:
        try:
            prompt = job.prompt(llm)
            request = llm.request(prompt, llm.default_params(prompt, **{**given, **job.settings}))
            llm.engine.add_request(request)
        except UserError as error:
            yield {**job.copied, "error": str(error)}
        else:
            running[request.id] = job, request, prompt if isinstance(prompt, str) else None
    while running:
        llm.engine.step()
        ended = [request_id for request_id, (_, request, _) in running.items() if request.has_ended]
        for request_id in ended:
            job, request, text = running.pop(request_id)
            yield {**job.copied, **request.output(text).as_json()}


def _object(line: str) -> dict[str, Any] | None:
    """The JSON object of a line, None where it holds none."""
    try:
        content = json.loads(line)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None

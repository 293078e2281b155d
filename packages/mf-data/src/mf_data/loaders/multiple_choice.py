"""Questions with several answers to choose from, such as those of MMLU and C-Eval."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from string import ascii_uppercase

from mf_config.schema import component, key
from mf_data.loaders.base import ON_BROKEN
from mf_data.texts.choice_prompts import MOST_ANSWERS, AnswerForm, ChoicePrompt, ChoiceRecord
from mf_data.texts.choices import Choice
from mf_data.texts.compressed import plain_suffix
from mf_data.texts.data_files import find_files
from mf_data.texts.records import (
    FORMS,
    Found,
    OnBroken,
    Record,
    RecordError,
    converted,
    read_records,
    read_table,
    sift,
    text_in,
)

_PART = re.compile(r"_(test|dev|val|train)$")
"""What the name of a subject's file ends with."""


@component("data_loader", "MultipleChoiceDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class MultipleChoiceDataLoader:
    """Questions from csv, tsv, json, jsonl or parquet files, and how they are asked.

    A question's subject stands in its record, or is the name of its file without `_test`, `_val` or `_dev`.
    """

    dataset_dir: str = key("A file of questions, or a folder of them with its subfolders.")
    column_names: tuple[str, ...] | None = key(
        "Names of the columns of tables whose first line is a question already, as in MMLU's own files.", None
    )
    question_field: str = key("The field of a record that holds the question.", "question")
    choice_fields: tuple[str, ...] = key(
        "The fields of the answers; a single one holds a list of them.", ("A", "B", "C", "D")
    )
    answer_field: str = key("The field of the right answer: its letter, or its number from 0.", "answer")
    subject_field: str = key("The field of the subject, where records have one.", "subject")
    examples_dir: str | None = key(
        "Files like those of dataset_dir with solved questions, which are shown before each question of their subject.",
        None,
    )
    num_examples: int = key("How many of them, the first ones.", 5, minimum=0, needs="examples_dir")
    num_questions: int | None = key("Most questions of a file, the first ones; all where absent.", None, minimum=1)
    introduction: str = key(
        "Text before everything, with {subject} in place of the subject's words.",
        "The following are multiple choice questions (with answers) about {subject}.\n\n",
    )
    answer_prompt: str = key("What asks for the answer.", "Answer:")
    answer_form: AnswerForm = key(
        "What is weighed: the letter of an answer, which stands in the question; or its text, which does not.", "letter"
    )
    on_broken: OnBroken = key(ON_BROKEN, "stop")

    @property
    def shuffle(self) -> bool:
        """Rows of a question follow each other."""
        return False

    @property
    def num_samples(self) -> int | None:
        """All rows; `num_questions` leaves out whole questions."""
        return None

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if not 1 <= len(self.choice_fields) <= MOST_ANSWERS:
            yield "choice_fields", f"has {len(self.choice_fields)} fields", f"from 1 to {MOST_ANSWERS}"

    def choices(self) -> Iterator[Choice]:
        """The questions; see `mf_data.texts.choices.ChoiceLoader`."""
        prompt = ChoicePrompt(self.introduction, self.answer_prompt, self.answer_form)
        solved: dict[str, list[ChoiceRecord]] = {}
        if self.examples_dir is not None:
            for record in self._records(self.examples_dir, "data_loader.examples_dir", None):
                solved.setdefault(record.subject, []).append(record)
        for record in self._records(self.dataset_dir, "data_loader.dataset_dir", self.num_questions):
            yield prompt.choice(record, solved.get(record.subject, ())[: self.num_examples])

    def _records(self, place: str, name: str, most: int | None) -> Iterator[ChoiceRecord]:
        """The questions of all files, at most so many of each."""
        for path in find_files(place, tuple(f".{form}" for form in FORMS), name):
            subject = _PART.sub("", path.name.split(".")[0])
            found = converted(self._read(path), partial(self._record, subject=subject))
            yield from islice((record for _, record in sift(found, self.on_broken)), most)

    def _read(self, path: Path) -> Iterator[Found[Record]]:
        delimiter = {".csv": ",", ".tsv": "\t"}.get(plain_suffix(path))
        if self.column_names is None or delimiter is None:
            return read_records(path)
        return read_table(path, delimiter, self.column_names)

    def _record(self, record: Record, subject: str) -> ChoiceRecord:
        given = record.get(self.subject_field)
        answers = self._answers(record)
        right = _number(record, self.answer_field, len(answers))
        named = given if isinstance(given, str) and given else subject
        return ChoiceRecord(named, text_in(record, self.question_field), answers, right)

    def _answers(self, record: Record) -> tuple[str, ...]:
        if len(self.choice_fields) > 1:
            return tuple(text_in(record, name) for name in self.choice_fields)
        (name,) = self.choice_fields
        values = record.get(name)
        if not isinstance(values, list) or not 2 <= len(values) <= MOST_ANSWERS:
            raise RecordError(name, f"{values!r:.40} is no list of answers", f"a list of 2 to {MOST_ANSWERS} texts")
        return tuple(text_in({name: value}, name) for value in values)


def _number(record: Record, field: str, answers: int) -> int:
    """The number of the right answer, from 0."""
    value = record.get(field)
    letters = ascii_uppercase[:answers]
    if isinstance(value, str):
        text = value.strip().upper()
        value = letters.index(text) if text in tuple(letters) else int(text) if text.isdecimal() else None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < answers:
        allowed = f"a letter from A to {letters[-1]}, or a number from 0 to {answers - 1}"
        raise RecordError(field, f"{record.get(field)!r} is no answer", allowed)
    return value

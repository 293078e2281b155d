"""Rows for the choice between answers by their likelihood."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.datasets.base import TaskKeys, refuse_loader
from mf_data.loader import Loader
from mf_data.prepared.stored_rows import StoredFile, StoredLoader, stored_column
from mf_data.progress import Progress
from mf_data.rows.data_set import IGNORED, padded
from mf_data.rows.settings import RowSettings
from mf_data.rows.token_roles import filling
from mf_data.texts.choices import Choice, ChoiceLoader, ChoiceRows, Question
from mf_data.texts.labelled_texts import LabelledLoader
from mf_data.tokenizers.base import Tokenizer

_Row = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Ids and labels of a row, int32 [any]."""

_TEXT = "{text}"


@component("dataset", "MultipleChoiceDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class MultipleChoiceDataset(TaskKeys):
    """A row for each answer of each question, in which the tokens of the answer count, for evaluation."""

    prompts: tuple[str, ...] = key(
        "For texts with classes: what is said of a text of each class, in order, with {text} in its place; all of it "
        "counts.",
        (),
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        for prompt in self.prompts:
            if _TEXT not in prompt:
                yield "prompts", f"{prompt!r} has no place for the text", f"a sentence with {_TEXT}"
        if len(self.prompts) == 1:
            yield "prompts", "one leaves no choice", "one for each class"

    def rows(
        self, loader: Loader, tokenizer: Tokenizer, seq_length: int, settings: RowSettings, progress: Progress
    ) -> ChoiceRows:
        """Read the questions and make their rows, in memory.

        Args:
            loader: gives questions; texts with classes, of which `prompts` make questions; or stored rows: the ids of
                all answers one after the other, `seq_length` each, in `input_ids`, as many values of a mask in
                `attention_mask` or `input_mask`, and in `labels` the number of the right one.
            tokenizer: makes the ids. Context and answer are tokenized together, and the answer's tokens are those
                behind the context's; space that ends the context counts as a part of the answer.
            seq_length: tokens that the model reads at once; of longer rows the beginning is cut off.
            settings: not read.
            progress: called now and then with the bytes of text done so far.
        Returns:
            The rows: `input_ids` and `labels` beside them (not shifted), int32 [n, seq_length + 1].
        Raises:
            UserError: a file is missing or broken, the data has no questions, or an answer does not fit into a row.

        Source: Gao et al., A framework for few-shot language model evaluation (lm-evaluation-harness), loglikelihood.
        """
        pad = filling(tokenizer)
        questions: list[Question] = []
        rows: list[_Row] = []
        if isinstance(loader, StoredLoader):
            for question, found in _stored(loader.stored_files(), seq_length):
                questions.append(question)
                rows += found
        else:
            done = 0
            for choice in self._choices(loader):
                questions.append(Question(choice.subject, len(choice.answers), choice.right))
                rows += [_row(choice.context, answer, tokenizer, seq_length) for answer in choice.answers]
                done += sum(len(text.encode()) for text in (choice.context, *choice.answers))
                progress(done)
        ids, labels = zip(*rows, strict=True)
        columns = {
            "input_ids": padded(ids, seq_length + 1, pad),
            "labels": padded(labels, seq_length + 1, IGNORED),
        }
        return ChoiceRows(columns, questions, pad)

    def _choices(self, loader: Loader) -> Iterable[Choice]:
        if isinstance(loader, ChoiceLoader):
            return loader.choices()
        if not isinstance(loader, LabelledLoader):
            raise refuse_loader(self, loader)
        if not self.prompts:
            raise UserError(
                "eval_dataset_task.prompts: is missing, and the data set has texts with classes. "
                f"Allowed: a sentence with {_TEXT} for each class."
            )
        return self._prompted(loader)

    def _prompted(self, loader: LabelledLoader) -> Iterator[Choice]:
        for each in loader.labelled_texts():
            if each.label >= len(self.prompts):
                raise UserError(
                    f"eval_dataset_task.prompts: there are {len(self.prompts)}, and a text has the class {each.label}. "
                    f"Allowed: one for each class."
                )
            yield Choice("", "", tuple(prompt.replace(_TEXT, each.text) for prompt in self.prompts), each.label)


def _row(context: str, answer: str, tokenizer: Tokenizer, seq_length: int) -> _Row:
    begin = _encoded(context.rstrip(), tokenizer)
    ids = np.array(_encoded(context + answer, tokenizer), np.int32)
    # Without anything before it, the first token can't be foretold.
    before = max(1, len(begin))
    if len(ids) - before > seq_length:
        raise UserError(
            f"an answer has {len(ids) - before} tokens: {answer.strip():.40}. Allowed: up to seq_length = {seq_length}."
        )
    labels = np.where(np.arange(len(ids)) < before, np.int32(IGNORED), ids)
    return ids[-(seq_length + 1) :], labels[-(seq_length + 1) :]


def _encoded(text: str, tokenizer: Tokenizer) -> list[int]:
    """Ids of a text that goes on: what the tokenizer puts before one, but not what ends it."""
    ids = tokenizer.encode(text, parse_special_tokens=False)
    return ids[:-1] if tokenizer.eos_id is not None and ids[-1:] == [tokenizer.eos_id] else ids


def _stored(files: Sequence[StoredFile], seq_length: int) -> Iterator[tuple[Question, list[_Row]]]:
    for file in files:
        ids_name, right_name = stored_column(file, ("input_ids",)), stored_column(file, ("labels", "label_ids"))
        mask_name = stored_column(file, ("attention_mask", "input_mask"))
        for number in range(len(file)):
            columns = file.row(number)
            ids, mask, right = columns[ids_name], columns[mask_name], columns[right_name]
            answers, rest = divmod(ids.size, seq_length)
            if rest or answers < 2 or mask.size != ids.size or right.size != 1 or not 0 <= right.item() < answers:
                raise UserError(
                    f"{file.path}: row {number} has {ids.size} ids, {mask.size} values of a mask and the label "
                    f"{right.tolist()}. Allowed: seq_length = {seq_length} of each for every answer, and the number of "
                    "the right one."
                )
            labels = np.where(mask == 0, IGNORED, ids)
            shape = (answers, seq_length)
            rows = zip(ids.reshape(shape).astype(np.int32), labels.reshape(shape).astype(np.int32), strict=True)
            yield Question("", answers, int(right.item())), list(rows)

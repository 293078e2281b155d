"""How a question with answers to choose from is written down, alone and behind solved ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Literal

from mf_data.texts.choices import Choice

AnswerForm = Literal["letter", "text"]
"""What is weighed: the letter of an answer that stands in the question, or the answer itself, which does not."""

MOST_ANSWERS = len(ascii_uppercase)
"""As many as there are letters."""


@dataclass(frozen=True, slots=True)
class ChoiceRecord:
    """A question as a file has it.

    Attributes:
        subject: what it belongs to; empty for nothing.
        question: its text.
        answers: the texts to choose from.
        right: number of the right one, from 0.
    """

    subject: str
    question: str
    answers: tuple[str, ...]
    right: int


@dataclass(frozen=True, slots=True)
class ChoicePrompt:
    """The form of a prompt. Source: Hendrycks et al. 2021, Measuring Massive Multitask Language Understanding.

    Attributes:
        introduction: stands before everything, with {subject} in place of the subject's words.
        answer_prompt: stands before the answer, in a line of its own.
        form: what is weighed.
    """

    introduction: str
    answer_prompt: str
    form: AnswerForm

    def choice(self, record: ChoiceRecord, examples: Iterable[ChoiceRecord]) -> Choice:
        """A question to be answered.

        Args:
            record: the question.
            examples: solved ones to show before it.
        """
        words = record.subject.replace("_", " ")
        shown = "".join(f"{self._asked(one)}{self._answers(one)[one.right]}\n\n" for one in examples)
        context = f"{self.introduction.replace('{subject}', words)}{shown}{self._asked(record)}"
        return Choice(record.subject, context, self._answers(record), record.right)

    def _asked(self, record: ChoiceRecord) -> str:
        lines = [record.question]
        if self.form == "letter":
            lines += [f"{letter}. {answer}" for letter, answer in zip(ascii_uppercase, record.answers, strict=False)]
        return "\n".join([*lines, self.answer_prompt])

    def _answers(self, record: ChoiceRecord) -> tuple[str, ...]:
        texts = ascii_uppercase[: len(record.answers)] if self.form == "letter" else record.answers
        return tuple(f" {text}" for text in texts)

"""Prompts and answers in the form of the AdvertiseGen data set: one JSON object a line."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.loaders.base import ON_BROKEN, LoaderKeys
from mf_data.texts.conversations import Conversation, exchange
from mf_data.texts.data_files import find_files
from mf_data.texts.record_conversations import read_converted
from mf_data.texts.records import OnBroken, Record, text_in


@component("data_loader", "ADGenDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class ADGenDataLoader(LoaderKeys):
    """Pairs of prompt and answer from a `.json` file with one object a line."""

    dataset_dir: str | None = key("The file to read, one JSON object a line.", None)
    phase: str = key(
        "What the rows are for: train or eval.",
        "train",
        allowed=("train", "eval"),
        inert="an evaluation measures the loss of the answers, on rows like those of the training",
    )
    version: int = key(
        "How KeyWordGenDataset builds a row: 1 as for GLM, 2 as for GLM2 and GLM3, 3 as for GLM4.",
        1,
        allowed=(1, 2, 3),
    )
    origin_columns: tuple[str, ...] = key(
        "The fields of an object that hold the prompt and the answer, in this order.", ("content", "summary")
    )
    on_broken: OnBroken = key(ON_BROKEN, "stop")

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        if len(self.origin_columns) != 2:
            yield "origin_columns", f"{list(self.origin_columns)} is not a pair", "two names, prompt then answer"

    def conversations(self) -> Iterator[Conversation]:
        """The pairs as conversations; see `mf_data.texts.conversations.ConversationLoader`."""
        for prompt, answer in self.pairs():
            yield exchange(prompt, answer)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Prompts and answers; see `mf_data.datasets.keyword_gen.PairLoader`."""
        prompt, answer = self.origin_columns

        def pair(record: Record) -> tuple[str, str]:
            return text_in(record, prompt), text_in(record, answer)

        return read_converted(find_files(self.dataset_dir or "", (".json", ".jsonl")), pair, self.on_broken)

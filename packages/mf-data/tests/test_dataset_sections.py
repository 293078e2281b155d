"""The sections of dataset tasks, written as MindFormers users write them."""

import pytest

from mf_config import ConfigError
from mf_config.components import components
from mf_config.schema import tag_of

READY = (
    "CausalLanguageModelDataset",
    "KeyWordGenDataset",
    "MultiTurnDataset",
    "MultipleChoiceDataset",
    "SlidingWindowDataset",
    "TextClassificationDataset",
)
PENDING = (
    "ModalToTextSFTDataset",
    "RewardModelDataset",
    "TranslationDataset",
    "QuestionAnsweringDataset",
    "TokenClassificationDataset",
    "MaskLanguageModelDataset",
    "GeneralDataset",
)


@pytest.mark.parametrize("name", READY + PENDING)
def test_tasks_are_read(section_of, name):
    section = section_of("dataset", f"{{type: {name}, dataset_config: {{input_columns: [input_ids]}}}}")
    assert type(section) is components("dataset")[name]
    assert bool(tag_of(type(section)).pending) == (name in PENDING)


def test_a_task_has_no_keys_of_the_data_set(section_of):
    with pytest.raises(ConfigError, match=r"section.max_source_length: unknown key. Allowed: type, dataset_config."):
        section_of("dataset", "{type: KeyWordGenDataset, max_source_length: 64}")


def test_every_task_is_tried_here():
    assert {*READY, *PENDING} == set(components("dataset"))

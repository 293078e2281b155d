"""Questions with answers to choose from: how they are asked, and the rows of their answers."""

import json

import numpy as np
import pytest

from mf_config.problems import ConfigError, UserError
from mf_data.datasets.multiple_choice import MultipleChoiceDataset
from mf_data.loaders.mind_record import MindDataset
from mf_data.loaders.multiple_choice import MultipleChoiceDataLoader
from mf_data.loaders.sft import SFTDataLoader
from mf_data.loaders.text import TextDataLoader
from mf_data.opening import open_dataset
from mf_data.prepared.mind_record_writer import MindRecordWriter
from mf_data.rows.data_set import IGNORED
from mf_data.texts.choices import Choice, Question

MMLU = ("question", "A", "B", "C", "D", "answer")


@pytest.fixture
def mmlu(tmp_path):
    """Two subjects in MMLU's own form, which has no line of names, and a solved question of one of them."""
    for folder, name, content in (
        ("test", "us_history_test", 'Who?,Ann,Bob,"Cy, jr.",Di,C\nWhen?,1,2,3,4,A\n'),
        ("test", "logic_test", "True?,yes,no,both,none,B\n"),
        ("dev", "us_history_dev", "Where?,N,E,S,W,D\nWhy?,a,b,c,d,A\n"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.csv").write_text(content)
    return tmp_path


def test_questions_are_asked_as_in_mmlu(mmlu):
    loader = MultipleChoiceDataLoader(
        dataset_dir=str(mmlu / "test"), column_names=MMLU, examples_dir=str(mmlu / "dev"), num_examples=1
    )
    letters = (" A", " B", " C", " D")
    about = "The following are multiple choice questions (with answers) about {}.\n\n"
    solved = "Where?\nA. N\nB. E\nC. S\nD. W\nAnswer: D\n\n"
    history = about.format("us history") + solved
    assert list(loader.choices()) == [
        Choice("logic", about.format("logic") + "True?\nA. yes\nB. no\nC. both\nD. none\nAnswer:", letters, 1),
        Choice("us_history", history + "Who?\nA. Ann\nB. Bob\nC. Cy, jr.\nD. Di\nAnswer:", letters, 2),
        Choice("us_history", history + "When?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:", letters, 0),
    ]
    few = MultipleChoiceDataLoader(dataset_dir=str(mmlu / "test"), column_names=MMLU, num_questions=1)
    assert [one.subject for one in few.choices()] == ["logic", "us_history"]


def test_answers_in_a_list_weighed_by_their_texts(tmp_path):
    path = tmp_path / "validation.jsonl"
    records = [
        {"question": "The sky is", "choices": ["green", "blue", "a sea"], "answer": 1, "subject": "colours"},
        {"question": "Grass is", "choices": ["green", "blue"], "answer": "a"},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    loader = MultipleChoiceDataLoader(
        dataset_dir=str(path), choice_fields=("choices",), answer_form="text", introduction="", answer_prompt="So:"
    )
    assert list(loader.choices()) == [
        Choice("colours", "The sky is\nSo:", (" green", " blue", " a sea"), 1),
        Choice("validation", "Grass is\nSo:", (" green", " blue"), 0),
    ]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"answer": "E"}, r"'E' is no answer. Allowed: a letter from A to D, or a number from 0 to 3"),
        ({"answer": 4}, "4 is no answer"),
        ({"C": 7}, "C: 7 is not text"),
        ({"question": ""}, "question: is empty"),
    ],
)
def test_broken_records_are_named_with_their_line(tmp_path, record, message):
    path = tmp_path / "q.jsonl"
    whole = {"question": "q", "A": "a", "B": "b", "C": "c", "D": "d", "answer": "A"}
    path.write_text(f"{json.dumps(whole)}\n{json.dumps(whole | record)}\n")
    with pytest.raises(ConfigError, match=r"q.jsonl:2: .*" + message):
        list(MultipleChoiceDataLoader(dataset_dir=str(path)).choices())
    left = MultipleChoiceDataLoader(dataset_dir=str(path), on_broken="skip").choices()
    assert len(list(left)) == 1


def test_the_tokens_of_an_answer_count(tmp_path, bpe_chat):
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"question": "Grass is", "choices": ["green", "of a deep blue"], "answer": 0}))
    loader = MultipleChoiceDataLoader(
        dataset_dir=str(path), choice_fields=("choices",), answer_form="text", introduction=""
    )
    rows = open_dataset(loader, MultipleChoiceDataset(), bpe_chat, 40)
    assert rows.questions == (Question("q", 2, 0),)
    columns = rows[np.arange(2)]
    context = bpe_chat.encode("Grass is\nAnswer:")
    for row, answer in enumerate((" green", " of a deep blue")):
        whole = bpe_chat.encode("Grass is\nAnswer:" + answer)
        assert whole[: len(context)] == context
        assert columns["input_ids"][row, : len(whole)].tolist() == whole
        targets = [IGNORED] * len(context) + whole[len(context) :]
        assert columns["labels"][row].tolist() == targets + [IGNORED] * (41 - len(whole))
    short = open_dataset(loader, MultipleChoiceDataset(), bpe_chat, 8)[np.arange(2)]
    whole = bpe_chat.encode("Grass is\nAnswer: of a deep blue")
    assert len(whole) > 9
    assert short["input_ids"][1].tolist() == whole[-9:]
    with pytest.raises(UserError, match=r"an answer has \d+ tokens: green. Allowed: up to seq_length = 1"):
        open_dataset(loader, MultipleChoiceDataset(), bpe_chat, 1)


def test_prompts_of_classes(tmp_path, bpe_chat):
    path = tmp_path / "train.tsv"
    path.write_text("sentence\tlabel\nfine\t1\n")
    loader = SFTDataLoader(dataset_dir=str(path), dataset_name="sst-2")
    task = MultipleChoiceDataset(prompts=("Bad: {text}", "Good: {text}"))
    rows = open_dataset(loader, task, bpe_chat, 30)
    assert rows.questions == (Question("", 2, 1),)
    whole = bpe_chat.encode("Good: fine")
    columns = rows[np.array([1])]
    assert columns["input_ids"][0, : len(whole)].tolist() == whole
    assert columns["labels"][0, : len(whole)].tolist() == [IGNORED, *whole[1:]]
    with pytest.raises(UserError, match="prompts: is missing"):
        open_dataset(loader, MultipleChoiceDataset(), bpe_chat, 30)
    path.write_text("sentence\tlabel\nfine\t2\n")
    with pytest.raises(UserError, match="there are 2, and a text has the class 2"):
        open_dataset(loader, task, bpe_chat, 30)


def test_stored_rows_hold_all_answers_of_a_question(tmp_path, bpe_chat):
    path = tmp_path / "rows.mindrecord"
    with MindRecordWriter(str(path), ["input_ids", "input_mask", "labels"]) as writer:
        row = {"input_ids": [5, 6, 7, 5, 8, 0], "input_mask": [0, 1, 1, 1, 1, 0], "labels": [1]}
        writer.add({name: np.array(values) for name, values in row.items()})
    rows = open_dataset(MindDataset(dataset_dir=str(path)), MultipleChoiceDataset(), bpe_chat, 3)
    assert rows.questions == (Question("", 2, 1),)
    columns = rows[np.arange(2)]
    pad = bpe_chat.pad_id
    assert columns["input_ids"].tolist() == [[5, 6, 7, pad], [5, 8, 0, pad]]
    assert columns["labels"].tolist() == [[IGNORED, 6, 7, IGNORED], [5, 8, IGNORED, IGNORED]]
    with pytest.raises(UserError, match=r"row 0 has 6 ids, 6 values of a mask and the label \[1\]. Allowed: seq_l"):
        open_dataset(MindDataset(dataset_dir=str(path)), MultipleChoiceDataset(), bpe_chat, 4)


def test_sections_and_other_loaders(tmp_path, section_of, bpe_chat):
    with pytest.raises(ConfigError, match="'It is' has no place for the text"):
        section_of("dataset", "{type: MultipleChoiceDataset, prompts: ['It is', 'about {text}']}")
    with pytest.raises(ConfigError, match="one leaves no choice"):
        section_of("dataset", "{type: MultipleChoiceDataset, prompts: ['about {text}']}")
    with pytest.raises(ConfigError, match="Did you mean num_questions"):
        section_of("data_loader", "{type: MultipleChoiceDataLoader, dataset_dir: x, num_question: 3}")
    with pytest.raises(UserError, match="MultipleChoiceDataset can't make rows of what TextDataLoader gives"):
        open_dataset(TextDataLoader(dataset_dir=str(tmp_path)), MultipleChoiceDataset(), bpe_chat, 4)

import json

import numpy as np
import pytest

from mf_config.problems import ConfigError, UserError
from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.datasets.keyword_gen import KeyWordGenDataset
from mf_data.datasets.reward_model import RewardModelDataset
from mf_data.handlers.alpaca import AlpacaInstructDataHandler
from mf_data.handlers.preference import PreferenceDataHandler
from mf_data.loaders.adgen import ADGenDataLoader
from mf_data.loaders.common import CommonDataLoader
from mf_data.loaders.sft import SFTDataLoader
from mf_data.loaders.text import TextDataLoader
from mf_data.loaders.tool_alpaca import ToolAlpacaDataLoader
from mf_data.opening import open_dataset, open_tokenizer
from mf_data.texts.conversations import exchange, say
from mf_data.tokenizers.loading import load_tokenizer

RECORDS = [{"instruction": f"Say {word}.", "output": word} for word in ("one", "two", "three")]
EXPECTED = [exchange(record["instruction"], record["output"]) for record in RECORDS]


@pytest.fixture
def plain_tokenizer(data, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes((data / "bpe_chat" / "tokenizer.json").read_bytes())
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|end|>", "pad_token": "<|pad|>"}')
    return load_tokenizer(folder)


def lines(path, records=RECORDS) -> str:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_common_reads_the_files_that_are_named(tmp_path):
    lines(tmp_path / "a.jsonl", RECORDS[:1])
    lines(tmp_path / "b.data", RECORDS[1:])
    handler = AlpacaInstructDataHandler()
    folder = str(tmp_path)
    for keys, expected in [
        ({"path": folder}, EXPECTED[:1]),
        ({"path": str(tmp_path / "a.jsonl")}, EXPECTED[:1]),
        ({"path": folder, "data_files": "a.jsonl"}, EXPECTED[:1]),
        ({"path": "jsonl", "data_dir": folder, "data_files": ("a.jsonl", "b.data")}, EXPECTED),
        ({"path": "json", "data_dir": folder, "data_files": {"test": "b.data"}, "split": "test"}, EXPECTED[1:]),
    ]:
        assert list(CommonDataLoader(handler=handler, **keys).conversations()) == expected


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"path": "x", "handler": None}, "data_loader.handler: is missing"),
        ({"path": "no_such_folder"}, "data_loader.path: no_such_folder does not exist"),
        ({"path": "json", "data_files": {"train": "x"}, "split": "tran"}, "split: tran .* Did you mean train?"),
        ({"path": "json", "data_files": "nothing.json"}, "data_files: nothing.json does not exist"),
    ],
)
def test_common_names_what_it_can_not_read(keys, message):
    with pytest.raises(UserError, match=message):
        list(CommonDataLoader(**{"handler": AlpacaInstructDataHandler(), **keys}).conversations())


def test_sft_picks_the_handler_by_the_name_of_the_data_set(tmp_path):
    path = lines(tmp_path / "a.jsonl")
    assert list(SFTDataLoader(dataset_dir=path, dataset_name="alpaca").conversations()) == EXPECTED
    assert list(SFTDataLoader(dataset_dir=path).conversations()) == EXPECTED
    turns = {"talk": [{"who": "me", "value": "1?"}, {"who": "gpt", "value": "2"}]}
    loader = SFTDataLoader(
        dataset_dir=lines(tmp_path / "turns.jsonl", [turns]),
        dataset_name="multi-round-chat",
        map_function_kwargs={"data_field": "talk", "from_keyword": "who", "user_role_name": "me"},
    )
    assert list(loader.conversations()) == [exchange("1?", "2")]
    (tmp_path / "t.csv").write_text("q,a\n1?,2\n")
    assert list(SFTDataLoader(dataset_dir=str(tmp_path / "t.csv")).conversations()) == [exchange("1?", "2")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset_name: alpca", "dataset_name: alpca is not known; did you mean alpaca"),
        (
            "dataset_name: multi-round-chat, map_function_kwargs: {data_fields: x}",
            "map_function_kwargs: data_fields is unknown. Allowed: data_field, from_keyword",
        ),
    ],
)
def test_sft_names_data_sets_that_it_can_not_read(section_of, text, message):
    with pytest.raises(ConfigError, match=message):
        section_of("data_loader", f"{{type: SFTDataLoader, {text}}}")


def test_tool_alpaca_reads_lists_and_lines(tmp_path):
    record = {"tools": [{"name": "f"}], "conversations": [say("user", "a"), say("assistant", "b")]}
    (tmp_path / "list.json").write_text(json.dumps([record]))
    for path in (str(tmp_path / "list.json"), lines(tmp_path / "lines.jsonl", [record])):
        found = list(ToolAlpacaDataLoader(dataset_dir=path).conversations())
        assert [each.tools for each in found] == [({"name": "f"},)]


def test_adgen_drops_broken_rows_only_where_that_is_asked_for(tmp_path, caplog):
    path = lines(tmp_path / "a.json", [{"content": "a", "summary": "b"}, {"content": "a", "summary": ""}])
    with pytest.raises(ConfigError, match=r"a\.json:2: summary: is empty"):
        list(ADGenDataLoader(dataset_dir=path).pairs())
    assert list(ADGenDataLoader(dataset_dir=path, on_broken="skip").pairs()) == [("a", "b")]
    assert "1 of 2 records are broken" in caplog.text
    nothing = lines(tmp_path / "b.json", [{"content": "a"}])
    with pytest.raises(UserError, match="no record can be used"):
        list(ADGenDataLoader(dataset_dir=nothing, on_broken="skip").pairs())
    assert list(ADGenDataLoader(dataset_dir=path, on_broken="skip").conversations()) == [exchange("a", "b")]


def texts_of(rows, tokenizer) -> list[str]:
    """What counts in each row."""
    columns = rows[np.arange(len(rows))]
    return [tokenizer.decode([i for i in row if i != -100], False) for row in columns["labels"].tolist()]


def test_conversations_become_padded_rows(bpe_chat, tmp_path):
    loader = CommonDataLoader(path=lines(tmp_path / "a.jsonl"), handler=AlpacaInstructDataHandler())
    rows = open_dataset(loader, CausalLanguageModelDataset(), bpe_chat, 40)
    assert rows[np.arange(3)]["input_ids"].shape == (3, 41)
    assert texts_of(rows, bpe_chat) == ["one<|end|>", "two<|end|>", "three<|end|>"]
    assert rows.padding["input_ids"] == bpe_chat.pad_id


def test_a_tokenizer_without_template_has_plain_conversations(plain_tokenizer, tmp_path):
    loader = CommonDataLoader(path=lines(tmp_path / "a.jsonl"), handler=AlpacaInstructDataHandler())
    rows = open_dataset(loader, CausalLanguageModelDataset(), plain_tokenizer, 40)
    assert texts_of(rows, plain_tokenizer) == [" one<|end|>", " two<|end|>", " three<|end|>"]


def test_conversations_share_rows_where_they_are_packed(bpe_chat, tmp_path, caplog):
    caplog.set_level("INFO")
    loader = CommonDataLoader(path=lines(tmp_path / "a.jsonl"), handler=AlpacaInstructDataHandler())
    rows = open_dataset(loader, CausalLanguageModelDataset(packing="first_fit"), bpe_chat, 100)
    assert texts_of(rows, bpe_chat) == ["one<|end|>two<|end|>three<|end|>"]
    assert "3 texts in 1 rows of 101 tokens" in caplog.text
    with pytest.raises(UserError, match="none of 3 texts has a token that counts within 4 tokens"):
        open_dataset(loader, CausalLanguageModelDataset(), bpe_chat, 3)


def test_preferences_become_two_texts_a_row(bpe_chat, tmp_path):
    record = {"prompt": "1+1?", "chosen": "two", "rejected": "three"}
    loader = CommonDataLoader(path=lines(tmp_path / "a.jsonl", [record]), handler=PreferenceDataHandler())
    rows = open_dataset(loader, RewardModelDataset(), bpe_chat, 60)
    columns = rows[np.array([0])]
    for side, answer in (("chosen", "two"), ("rejected", "three")):
        ids, labels = (columns[f"{side}_{name}"][0].tolist() for name in ("input_ids", "labels"))
        text = bpe_chat.decode(ids)
        assert text == f"user\n1+1?\nassistant\n{answer}\n"
        assert bpe_chat.decode([i for i in labels if i != -100], False) == f"{answer}<|end|>"
    with pytest.raises(UserError, match="no pair has both"):
        open_dataset(loader, RewardModelDataset(), bpe_chat, 3)
    plain = CommonDataLoader(path=lines(tmp_path / "a.jsonl"), handler=AlpacaInstructDataHandler())
    with pytest.raises(UserError, match="AlpacaInstructDataHandler makes no pairs"):
        open_dataset(plain, RewardModelDataset(), bpe_chat, 60)


def test_a_task_refuses_what_it_can_not_use(bpe_chat, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    loader = TextDataLoader(dataset_dir=str(tmp_path))
    for task in (KeyWordGenDataset(), RewardModelDataset()):
        with pytest.raises(UserError, match=f"{type(task).__name__} can't make rows of what TextDataLoader gives"):
            open_dataset(loader, task, bpe_chat, 60)


def test_a_loader_without_text_trains_no_tokenizer(tmp_path):
    class Section:
        def open(self, documents):
            return documents

    assert open_tokenizer(Section(), ADGenDataLoader()) is None
    assert open_tokenizer(Section(), TextDataLoader(dataset_dir=str(tmp_path))) is not None

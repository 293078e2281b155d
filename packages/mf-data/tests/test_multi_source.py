import json
from collections import Counter

import numpy as np
import pytest

from mf_config.problems import ConfigError
from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.indexed.writer import IndexedWriter
from mf_data.loaders.indexed import IndexedDataLoader
from mf_data.loaders.multi_source import MultiSourceDataLoader
from mf_data.opening import open_dataset


@pytest.fixture
def prefixes(tmp_path) -> list[str]:
    """Two corpora: five rows that begin with 10 to 14 and fifty with 100 to 149."""
    found = []
    for name, first, count in (("small", 10, 5), ("large", 100, 50)):
        with IndexedWriter(tmp_path / name, np.int32) as writer:
            for number in range(first, first + count):
                writer.add_document([[number, 1, 1]])
        found.append(str(tmp_path / name))
    return found


def firsts(tokenizer, loader) -> list[int]:
    rows = open_dataset(loader, CausalLanguageModelDataset(), tokenizer, 2)
    return rows[np.arange(len(rows))]["input_ids"][:, 0].tolist()


def mixture(prefixes, **keys) -> MultiSourceDataLoader:
    sections = tuple({"type": "IndexedDataLoader", "path_prefix": prefix} for prefix in prefixes)
    return MultiSourceDataLoader(sub_data_loader=sections, **keys)


def test_shares_are_exact_and_small_corpora_are_read_again(bpe_chat, prefixes):
    found = firsts(bpe_chat, mixture(prefixes, dataset_ratios=(0.3, 0.7), samples_count=40))
    assert sum(first < 100 for first in found) == 12
    assert Counter(first for first in found if first < 100) == {10: 3, 11: 3, 12: 2, 13: 2, 14: 2}
    assert [first for first in found if first >= 100] == list(range(100, 128))
    # Every tenth of the mixture has its share.
    assert all(sum(first < 100 for first in found[start : start + 10]) == 3 for start in range(0, 40, 10))


def test_numbers_and_whole_corpora(bpe_chat, prefixes):
    found = firsts(bpe_chat, mixture(prefixes, nums_per_dataset=(2, 3)))
    assert sorted(found) == [10, 11, 100, 101, 102]
    assert sorted(firsts(bpe_chat, mixture(prefixes))) == [*range(10, 15), *range(100, 150)]
    assert len(firsts(bpe_chat, mixture(prefixes, num_samples=11))) == 11


def test_keys_for_all_loaders_are_below_those_of_each(tmp_path, prefixes):
    sections = ({"type": "IndexedDataLoader"}, {"type": "IndexedDataLoader", "part": "valid", "num_samples": 3})
    common = {"path_prefix": prefixes[0], "split": "4,1", "part": "train"}
    loaders = MultiSourceDataLoader(sub_data_loader=sections, sub_data_loader_args=common).loaders()
    assert loaders == [
        IndexedDataLoader(path_prefix=prefixes[0], split="4,1", part="train"),
        IndexedDataLoader(path_prefix=prefixes[0], split="4,1", part="valid", num_samples=3),
    ]


def test_lists_and_sections_within_a_section_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"instruction": "a", "output": "b"}))
    section = {
        "type": "CommonDataLoader",
        "data_files": [str(path)],
        "path": "jsonl",
        "handler": {"type": "AlpacaInstructDataHandler", "prompt_key": None},
        "shuffle": False,
    }
    (loader,) = MultiSourceDataLoader(sub_data_loader=(section,)).loaders()
    assert (loader.data_files, loader.shuffle, loader.handler.prompt_key) == ((str(path),), False, None)
    assert len(list(loader.conversations())) == 1


def test_mistakes_in_a_loader_are_named_with_its_place(prefixes):
    with pytest.raises(ConfigError, match=r"data_loader: sub_data_loader\[1\]\.path_prefx: unknown key.*path_prefix\?"):
        MultiSourceDataLoader(
            sub_data_loader=({"type": "IndexedDataLoader"}, {"type": "IndexedDataLoader", "path_prefx": "x"})
        ).loaders()
    with pytest.raises(ConfigError, match="no data_loader is named 'IndexedLoader'"):
        MultiSourceDataLoader(sub_data_loader=({"type": "IndexedLoader"},)).loaders()


def test_shares_without_any_rows_are_refused(section_of):
    with pytest.raises(ConfigError, match=r"nums_per_dataset: sums to 0, so that there is nothing to mix"):
        section_of("data_loader", "{type: MultiSourceDataLoader, sub_data_loader: [{type: A}], nums_per_dataset: [0]}")

import numpy as np

from mf_data.datasets.causal_language_model import CausalLanguageModelDataset
from mf_data.loaders.python_library import PythonLibraryDataLoader
from mf_data.loaders.text import TextDataLoader
from mf_data.opening import open_dataset, open_tokenizer
from mf_data.reading.batches import Batches
from mf_data.tokenizers.base import token_bytes
from mf_data.tokenizers.byte_level_bpe import ByteLevelBPETokenizer


def test_from_the_library_to_a_batch(tmp_path):
    loader = PythonLibraryDataLoader(split="eval")
    section = ByteLevelBPETokenizer(tokenizer_file=str(tmp_path / "tokenizer.json"), vocab_size=1024)
    tokenizer = open_tokenizer(section, loader)
    rows = open_dataset(loader, CausalLanguageModelDataset(), tokenizer, 64)
    text = [document.text for document in loader.documents()]
    all_bytes = sum(len(t.encode()) for t in text)
    in_rows = token_bytes(tokenizer)[rows[np.arange(len(rows))]["input_ids"]].sum()
    assert open_tokenizer(section, None).vocab_size == 1024
    assert all_bytes - 65 * 30 < in_rows <= all_bytes
    assert all_bytes / (len(rows) * 65) > 2
    batch = Batches(rows, global_batch_size=8, seed=1, shuffle=loader.shuffle).batch(3)
    assert batch.columns["input_ids"].shape == (8, 65)
    assert batch.columns["input_ids"].max() < 1024


def test_text_of_ones_own_has_the_same_interface(tmp_path):
    (tmp_path / "own.txt").write_text("A sentence that stands here many times over. " * 50)
    loader = TextDataLoader(dataset_dir=str(tmp_path / "own.txt"), num_samples=3)
    section = ByteLevelBPETokenizer(tokenizer_file=str(tmp_path / "tokenizer.json"), vocab_size=270)
    rows = open_dataset(loader, CausalLanguageModelDataset(), open_tokenizer(section, loader), 16)
    assert len(rows) == 3

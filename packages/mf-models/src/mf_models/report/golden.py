"""A model with known results, and the comparisons of this package with them on the current device."""

import json
import shutil
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import Tensor, nn

import mf_ckpt
from mf_config.problems import UserError
from mf_models.cache import CachedStep
from mf_models.initializers import initialize
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.pet.lora import LoraConfig
from mf_models.pet.lora.attach import attach
from mf_models.pretrained import load, open_weights
from mf_models.registry import config_from_hf
from mf_models.report.cells import Cell, measured
from mf_models.saving import save
from mf_models.weights import assign

LOGITS_BOUND = 2e-4
"""In float32; greedy tokens of golden models have margins above it."""

LOSS_BOUND = 1e-5
"""In nats."""

MERGED_BOUND = 1e-5
"""Of the size of the largest logit: how far merging may move a model with LoRA."""

_BLOCK_SIZE = 8

_DEVIATION = 0.2
"""Standard deviation of drawn weights: large enough that changes of narrow models show."""


class Golden:
    """A Hugging Face directory with `golden.npz`: tokens, and what an independent program made of them.

    The file has `input_ids` [2, T], `logits` [2, T, V] and `loss` (the mean over all tokens but the first of a row),
    and two prompts `prompt0`, `prompt1` with the tokens `greedy0`, `greedy1` that follow when the likeliest is taken.
    What needs an array that is not there raises UserError.
    """

    def __init__(self, path: Path):
        """Takes the directory."""
        self.path = path
        self.arrays: dict[str, np.ndarray] = dict(np.load(path / "golden.npz"))

    def array(self, name: str) -> np.ndarray:
        """One of the arrays.

        Raises:
            UserError: the file has none of this name.
        """
        if name not in self.arrays:
            raise UserError(f"its golden.npz has no {name}")
        return self.arrays[name]

    @cached_property
    def loaded(self) -> tuple[ModelConfig, nn.Cell]:
        """Configuration and network."""
        return load(self.path)

    @cached_property
    def logits(self) -> np.ndarray:
        """What the network makes of the tokens, [B, T, V]."""
        found: np.ndarray = self.loaded[1](_int32(self.arrays["input_ids"])).asnumpy()
        return found

    def check_logits(self) -> Cell:
        """The largest difference of a logit."""
        return measured(float(np.abs(self.logits - self.array("logits")).max()), LOGITS_BOUND)

    def check_loss(self) -> Cell:
        """The difference of the mean loss."""
        expected = float(self.array("loss"))
        shifted, labels = self.logits[:, :-1].astype(np.float64), self.arrays["input_ids"][:, 1:, None]
        losses = np.log(np.exp(shifted).sum(-1, keepdims=True)) - np.take_along_axis(shifted, labels, -1)
        return measured(float(abs(losses.mean() - expected)), LOSS_BOUND)

    def check_round_trip(self) -> Cell:
        """Whether every file of weights is saved as it was loaded, byte by byte."""
        with tempfile.TemporaryDirectory() as folder:
            save(*self.loaded, Path(folder) / "saved", like=self.path)
            before, after = _files_of_weights(self.path), _files_of_weights(Path(folder) / "saved")
        differing = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        return Cell("identical" if not differing else f"{len(differing)} files differ", not differing)

    def check_lora(self) -> Cell:
        """How far merging moves a model with random products beside its attention, over the largest logit."""
        config, cell = load(self.path)
        section = LoraConfig(target_modules=r".*\.attention\.\w+", lora_rank=4, lora_dropout=0.0)
        adaptation = attach(section, cell, config, seed=0)
        random = np.random.default_rng(0)
        for _, matrices in adaptation.targets:
            for b in matrices.b.values():
                b.set_data(Tensor(random.normal(0, 0.1, b.shape).astype(np.float32)))
        beside, without = cell(_int32(self.arrays["input_ids"])).asnumpy(), self.logits
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(self.path, folder, dirs_exist_ok=True)
            for name, content in adaptation.files(str(self.path)).items():
                (Path(folder) / name).write_bytes(content)
            merged = self._logits_of_weights(Path(folder))
        if np.allclose(beside, without, 0, LOGITS_BOUND):
            return Cell("no effect", False)
        return measured(float(np.abs(beside - merged).max() / np.abs(merged).max()), MERGED_BOUND)

    def _logits_of_weights(self, folder: Path) -> np.ndarray:
        """What the network makes of the tokens with other weights, [B, T, V]; it has its own again afterwards."""
        config, cell = self.loaded
        assign(config, cell, open_weights(folder, config), str(folder))
        found: np.ndarray = cell(_int32(self.arrays["input_ids"])).asnumpy()
        assign(config, cell, open_weights(self.path, config), str(self.path))
        return found

    def check_cache(self) -> Cell:
        """The largest difference between logits token by token through a cache and those of the whole text."""
        ids = self.arrays["input_ids"]
        found = [self._next_logits(tokens, place) for place, tokens in enumerate(ids.T)]
        return measured(float(np.abs(np.stack(found, 1) - self.logits).max()), LOGITS_BOUND)

    def check_greedy(self) -> Cell:
        """How many of the tokens that follow the prompts are right."""
        rows = [list(self.array("prompt0")), list(self.array("prompt1"))]
        wanted = [self.array("greedy0"), self.array("greedy1")]
        ends = [len(row) + len(tokens) for row, tokens in zip(rows, wanted, strict=True)]
        for place in range(max(ends) - 1):
            # A row that is complete goes on with any token; nobody looks at what follows.
            tokens = [row[place] if place < len(row) else 0 for row in rows]
            found = self._next_logits(np.array(tokens), place).argmax(-1)
            for row, end, token in zip(rows, ends, found, strict=True):
                if place == len(row) - 1 and len(row) < end:
                    row.append(token)
        right = sum(int(np.equal(row[-len(tokens) :], tokens).sum()) for row, tokens in zip(rows, wanted, strict=True))
        total = sum(map(len, wanted))
        return Cell(f"{right} of {total}", right == total)

    def _next_logits(self, tokens_B: np.ndarray, place: int) -> np.ndarray:
        """Logits after one more token of both rows, [B, V]."""
        step, tables = self._step
        found: np.ndarray = step(_int32(tokens_B[:, None]), _int32([place] * 2), _int32([0, 0]), tables).asnumpy()
        return found

    @cached_property
    def _step(self) -> tuple[CachedStep, Tensor]:
        """A step with a cache for two rows, and the blocks of these."""
        model = self.loaded[1]
        prompts = [len(array) for name, array in self.arrays.items() if name.startswith("prompt")]
        longest = max([self.arrays["input_ids"].shape[1], *(length + 24 for length in prompts)])
        blocks = -(-longest // _BLOCK_SIZE)
        tables = np.arange(1, 2 * blocks + 1).reshape((2, blocks))
        return CachedStep(model, model.new_cache(2 * blocks + 1, _BLOCK_SIZE)), _int32(tables)


def draw(path: Path, folder: Path) -> Golden:
    """A model with drawn weights, for the checks that compare it with itself: round trip, LoRA and cache.

    Args:
        path: a directory with its config.json.
        folder: an empty one, to which the model is written.
    """
    data = json.loads((path / "config.json").read_text(encoding="utf-8"))
    config: Any = config_from_hf(data, f"{path.name}/config.json")
    network = build(config)
    network.initializer_range = _DEVIATION
    initialize(network, 0)
    save(config, network, folder / "saved")
    mf_ckpt.export(folder / "saved", folder / path.name)
    ids = np.random.default_rng(0).integers(0, config.vocab_size, (2, 12))
    np.savez(folder / path.name / "golden.npz", input_ids=ids)
    return Golden(folder / path.name)


def _files_of_weights(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("*.safetensors*")}


def _int32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.int32))

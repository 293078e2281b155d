"""Finds the classes of texts. Legend: B rows, T tokens, C classes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mindspore import Tensor

import mf_ckpt
from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.loading import load_tokenizer
from mf_infer.engine.buckets import bucket
from mf_models.device import prepare
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.pretrained import open_weights, read_config
from mf_models.weights import assign

_ROWS = 8
"""Texts that are computed together."""

_SHORTEST = 16
"""Tokens of the smallest graph."""


@dataclass(frozen=True, slots=True)
class TextClass:
    """The class of a text.

    Attributes:
        text: the text.
        label: number of the likeliest class, from 0.
        probabilities: of each class.
    """

    text: str
    label: int
    probabilities: tuple[float, ...]

    def as_json(self) -> dict[str, object]:
        """The line of a file of predictions."""
        return {
            "prompt": self.text,
            "label": self.label,
            "score": self.probabilities[self.label],
            "scores": list(self.probabilities),
        }


class Classifier:
    """A loaded model that finds the class of a text, such as GPT2ForSequenceClassification.

    Attributes:
        config: the family's configuration.
        tokenizer: makes the ids of texts.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        config: ModelConfig | None = None,
        tokenizer: Tokenizer | None = None,
        context: ContextSection,
    ):
        """Load a model; the first text of each size waits for its graph to compile.

        Args:
            path: a Hugging Face model directory, an mf checkpoint, or a run's output_dir or checkpoint folder, of which
                the newest complete checkpoint is taken.
            config: a family's configuration in place of the model's own; the weights must fit it.
            tokenizer: in place of the model's.
            context: the device and MindSpore's settings, which hold for the whole process.
        Raises:
            UserError: there is no complete checkpoint, it can't be used, or its network finds no classes.
        """
        place = mf_ckpt.find(path)
        prepare(context)
        self.config = config or read_config(place)
        if self.config.num_labels is None:
            raise UserError(f"{place}: finds no classes. Allowed: a network such as GPT2ForSequenceClassification.")
        self.tokenizer = tokenizer or load_tokenizer(place)
        self._model = build(self.config)
        assign(self.config, self._model, open_weights(place, self.config), str(place))
        self._model.set_train(False)

    def classify(self, texts: Sequence[str]) -> list[TextClass]:
        """Find the classes of texts; of longer ones than the model reads, the beginning counts.

        Args:
            texts: any texts with at least one token each.
        Returns:
            One class for each, in the same order.
        Raises:
            UserError: a text has no tokens.
        """
        ids = [self.tokenizer.encode(text, parse_special_tokens=False)[: self.config.max_positions] for text in texts]
        for text, tokens in zip(texts, ids, strict=True):
            if not tokens:
                raise UserError(f"the text {text!r} has no tokens. Allowed: at least one.")
        rows = (row_C for first in range(0, len(ids), _ROWS) for row_C in self._scores(ids[first : first + _ROWS]))
        return [
            TextClass(text, int(row_C.argmax()), tuple(_softmax(row_C).tolist()))
            for text, row_C in zip(texts, rows, strict=True)
        ]

    def _scores(self, ids: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
        """Scores at the last token of each text, float32 [C]; what fills rows up stands behind it and is not seen."""
        ids_BT = np.zeros((_ROWS, bucket(max(map(len, ids)), _SHORTEST, self.config.max_positions)), np.int32)
        for row, tokens in enumerate(ids):
            ids_BT[row, : len(tokens)] = tokens
        scores_BTC = self._model(Tensor(ids_BT)).asnumpy()
        return (scores_BTC[row, len(tokens) - 1] for row, tokens in enumerate(ids))


def _softmax(scores_C: np.ndarray) -> np.ndarray:
    """[C] to [C], float64."""
    powers_C: np.ndarray = np.exp(scores_C.astype(np.float64) - scores_C.max())
    powers_C /= powers_C.sum()
    return powers_C

"""Weights of a language model as those of a network that finds classes and is yet to be trained."""

from mf_ckpt import Source
from mf_ckpt.sources.arrays import ArraySource
from mf_ckpt.sources.combined import CombinedSource
from mf_ckpt.sources.renamed import RenamedSource
from mf_models.config_keys.classes import SCORE
from mf_models.initializers import initial_values
from mf_models.model_config import ModelConfig

_LANGUAGE_HEAD = "lm_head.weight"


def with_new_head(config: ModelConfig, tensors: Source, seed: int, standard_deviation: float) -> Source:
    """Stored weights with a new head of classes where they have none; the head that scores tokens is left out.

    Args:
        config: the configuration of the network that finds classes.
        tensors: the weights of an open checkpoint, under Hugging Face names.
        seed: seed of the run, from which the head is drawn.
        standard_deviation: of its elements.
    """
    if SCORE in tensors or config.num_labels is None:
        return tensors
    kept = RenamedSource.subset(tensors, [name for name in tensors if name != _LANGUAGE_HEAD])
    score = initial_values(SCORE, (config.num_labels, config.hidden_size), seed, standard_deviation)
    return CombinedSource.overlay(kept, ArraySource({SCORE: score}), "weights with a new head")

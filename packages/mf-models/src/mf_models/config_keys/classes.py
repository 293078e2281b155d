"""Networks that find the class of a text: their key, and what they are called."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from mf_config.schema import key

CLASSIFIER = "ForSequenceClassification"
"""What the names of such networks end with."""

SCORE = "score.weight"
"""The head of classes, by Hugging Face's name; MindFormers has none."""

_LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel")
"""What the names of networks that score the next token end with."""

_FEWEST = 2
"""Classes where nothing says how many, as in Hugging Face Transformers."""


@dataclass(frozen=True, kw_only=True)
class ClassKeys:
    """How many classes a network tells apart."""

    __slots__ = ()

    num_labels: int | None = key(
        "Classes of a network whose name ends with ForSequenceClassification, 2 where not given. Networks of other "
        "names score the next token, whatever stands here.",
        None,
        minimum=1,
    )

    def for_architecture(self, architecture: str) -> "ClassKeys":
        """What the section means beside the name of a network."""
        return self.with_classes_of(architecture)

    def with_classes_of(self, architecture: str) -> Self:
        """The same family with the classes that the network of this name has, or without."""
        return replace(self, num_labels=(self.num_labels or _FEWEST) if architecture.endswith(CLASSIFIER) else None)

    def class_problems(self, architectures: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
        """Classes where the family has no network for them.

        Args:
            architectures: the names of the family's networks.
        """
        if self.num_labels is not None and not any(name.endswith(CLASSIFIER) for name in architectures):
            yield "num_labels", "this family has no network that finds classes", "none"


def classifier_of(architecture: str) -> str:
    """The name of the network with the same decoder that finds classes."""
    for end in _LANGUAGE_MODELS:
        architecture = architecture.removesuffix(end)
    return f"{architecture}{CLASSIFIER}"
